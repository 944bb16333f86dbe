#!/usr/bin/env python3
"""A charm with the ops library that puts its application on the mesh. Whoever is related to `website` may read it."""

from __future__ import annotations

import ops
from meshstep import Meshstep
from meshstep_ops import MeshMember, endpoints_of

CONFIG = {"policies": [{"type": "app", "relation": "website", "endpoints": [{"ports": [9080], "methods": ["GET"]}]}]}


class DetailsCharm(ops.CharmBase):
    def __init__(self, framework: ops.Framework) -> None:
        super().__init__(framework)
        url = f"http://meshstep.{self.model.name}.svc.cluster.local"
        self.mesh = MeshMember(self, Meshstep(url, endpoints_of(self.meta), CONFIG))
        framework.observe(self.on.collect_unit_status, self._on_collect_unit_status)

    def _on_collect_unit_status(self, event: ops.CollectStatusEvent) -> None:
        event.add_status(ops.ActiveStatus())


if __name__ == "__main__":
    ops.main(DetailsCharm)
