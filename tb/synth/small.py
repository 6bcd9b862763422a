"""Netlists small enough to see what is in them."""

import json

from netlist import Netlist


def cell(kind, out, init="10", **ports):
    return {"type": kind, "connections": {port: [bit] for port, bit in ports.items()}, "parameters": {"INIT": init},
            "port_directions": {port: "output" if port == out else "input" for port in ports}}


def netlist_of(cells, folder):
    """Of cells by name, analysed."""
    file = folder / "netlist.json"
    file.write_text(json.dumps({"modules": {"top": {"netnames": {}, "cells": cells}}}))
    netlist = Netlist(file, "top", {})
    assert netlist.analyse() == []
    return netlist
