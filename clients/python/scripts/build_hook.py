"""Writes the generated part of the client before it is packed from the repository. A source distribution has it already."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GenerateHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        if (root / "../../api/openapi.json").exists():
            runpy.run_path(str(root / "scripts/generate.py"), run_name="__main__")
