"""Which Attune this is; the same as pyproject.toml says."""

VERSION = "0.1.0"
SOFTWARE = f"attune {VERSION}"
