"""Written by scripts/generate.py from the OpenAPI document. Do not edit."""

from __future__ import annotations

API_VERSION = "2026-03-01"
"""The version of the interface that this client speaks."""
