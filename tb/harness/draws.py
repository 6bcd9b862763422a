"""Which test files draw from the seed: the others need no second one."""

import ast
from functools import cache

from harness.imports import imported, nodes

NAMES = {"random", "seed", "SEED"}


@cache
def draws(path):
    """Whether a file names what draws, or one of ours does that it imports. What comes from the system does not count:
    no seed repeats it."""
    system = {id(node.value) for node in nodes(path) if isinstance(node, ast.Attribute) and node.attr == "SystemRandom"}
    names = {node.id for node in nodes(path) if isinstance(node, ast.Name) and id(node) not in system}
    names |= {node.arg for node in nodes(path) if isinstance(node, ast.arg)}
    return bool(names & NAMES) or any(map(draws, imported(path)))
