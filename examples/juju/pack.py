#!/usr/bin/env python3
"""Packs the charm into the working directory as `charmcraft pack` would, for machines without charmcraft.

It writes what `charmcraft.yaml` beside it says: the same files, and a manifest with the same base.
"""

import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME = "on-the-mesh_amd64.charm"
FILES = ["charm.py", "config.yaml", "dispatch", "meshstep.py", "metadata.yaml"]
MANIFEST = """\
bases:
- name: ubuntu
  channel: "22.04"
  architectures: [amd64]
"""


def entry(name: str, mode: int) -> zipfile.ZipInfo:
    """Describes a file without a date, so that the same charm has the same bytes."""
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100000 | mode) << 16
    return info


def main() -> None:
    with zipfile.ZipFile(NAME, "w") as charm:
        for name in FILES:
            charm.writestr(entry(name, 0o755 if name == "dispatch" else 0o644), (HERE / name).read_bytes())
        charm.writestr(entry("manifest.yaml", 0o644), MANIFEST)
    print(NAME)


if __name__ == "__main__":
    sys.exit(main())
