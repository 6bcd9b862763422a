"""What a file of the tests imports of ours."""

import ast
from functools import cache
from pathlib import Path

TB = Path(__file__).resolve().parents[1]


@cache
def nodes(path):
    return list(ast.walk(ast.parse(path.read_text())))


@cache
def imported(path):
    """Our files that a file imports, by their names from tb/."""
    modules = {alias.name for node in nodes(path) if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    files = ((TB / module.replace(".", "/")).with_suffix(".py") for module in modules)
    return frozenset(file for file in files if file.is_file())


def closure(*paths):
    """These files, and all of ours that they need."""
    found, next_ = set(), set(paths)
    while next_:
        found |= next_
        next_ = {file for path in next_ for file in imported(path)} - found
    return found
