"""Which test files draw from the seed: the others need no second one."""

import ast
from functools import cache
from pathlib import Path

TB = Path(__file__).parent
NAMES = {"random", "seed", "SEED"}


@cache
def draws(path):
    """Whether a file names what draws, or one of ours does that it imports. What comes from the system does not count:
    no seed repeats it."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    system = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "SystemRandom"}
    names = {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in system}
    names |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    return bool(names & NAMES) or any(map(draws, imported(path, nodes)))


def imported(path, nodes):
    """Our modules that a file imports: by their names from tb/, or as neighbours."""
    modules = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = (folder / module.replace(".", "/") for folder in (TB, path.parent) for module in modules)
    return {file.with_suffix(".py") for file in files if file.with_suffix(".py").is_file()}
