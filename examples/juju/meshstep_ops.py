"""Tells meshstep what happens to a charm with the ops library, and adds what is missing to the status of its unit.

It needs `meshstep.py` beside it, ops 2.5 or later, and Python 3.8 or later.
"""

from __future__ import annotations

import logging
import os
import shutil
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Tuple

import ops
from meshstep import ADDRESS_KEYS, RELATION_EVENTS, Endpoint, Hook, Meshstep, Report, ToolError

logger = logging.getLogger("meshstep")

ROLES = {"provides": "provides", "requires": "requires", "peer": "peers"}


def endpoints_of(meta: ops.CharmMeta) -> Dict[str, Endpoint]:
    """Returns the endpoints that the charm's metadata declares."""
    return {
        name: Endpoint(relation.interface_name or "", ROLES[relation.role.name])
        for name, relation in meta.relations.items()
    }


class MeshMember(ops.Object):
    """Tells each hook of a charm to meshstep, once the charm's own handlers have run.

    It adds a status to those that ops collects from the unit, if something is waited for. A charm that sets its status
    itself gives `adds_status=False`, and reads `statuses` of the last report.
    """

    def __init__(self, charm: ops.CharmBase, meshstep: Meshstep, adds_status: bool = True) -> None:
        super().__init__(charm, "meshstep")
        self._charm = charm
        self._meshstep = meshstep
        self._adds_status = adds_status
        self.report = Report()
        # ops collects statuses at the end of each hook
        self.framework.observe(charm.on.collect_unit_status, self._on_collect_unit_status)

    @property
    def statuses(self) -> List[ops.StatusBase]:
        """Lists what is waited for. It is empty while all is well, as the charm alone knows if it is active."""
        if self.report.problems:
            return [ops.WaitingStatus(f"meshstep: {self.report.problems[0]}")]
        name, message = self.report.status or ("active", "")
        waits = {"blocked": ops.BlockedStatus, "waiting": ops.WaitingStatus, "maintenance": ops.MaintenanceStatus}
        return [waits[name](f"meshstep: {message}")] if name in waits else []

    def _on_collect_unit_status(self, event: ops.CollectStatusEvent) -> None:
        self.report = self._meshstep.tell(OpsHook.of(self._charm))
        if self._adds_status:
            for status in self.statuses:
                event.add_status(status)


def _as_juju_names(hook: Hook) -> Hook:
    """Names hook and relation as Juju does. The testing library of ops 2 has `website_relation_created` and `3`."""
    endpoint = os.environ.get("JUJU_RELATION", "")
    number = (hook.relation_id or "").rpartition(":")[2]
    relation_id = f"{endpoint}:{number}" if endpoint and number else hook.relation_id
    name = hook.name
    for event in RELATION_EVENTS:
        if endpoint and name == f"{endpoint.replace('-', '_')}_relation_{event}":
            name = f"{endpoint}-relation-{event}"
    return replace(hook, name=name if "-" in name else name.replace("_", "-"), relation_id=relation_id)


@dataclass(frozen=True)
class OpsHook(Hook):
    """The hook that runs, as ops has it. So a charm's own tests with ops need no hook tools."""

    charm: Optional[ops.CharmBase] = field(default=None, compare=False)

    @classmethod
    def of(cls, charm: ops.CharmBase) -> "OpsHook":
        found = _as_juju_names(Hook.current())
        return cls(
            name=found.name,
            unit=charm.unit.name,
            model=charm.model.name,
            model_uuid=charm.model.uuid,
            relation_id=found.relation_id,
            remote_application=found.remote_application,
            charm=charm,
        )

    def is_leader(self) -> bool:
        return self._charm.unit.is_leader()

    def relation_ids(self, endpoint: str) -> List[str]:
        breaking = self.relation_id if self.name.endswith("-relation-broken") else None
        found = (f"{endpoint}:{relation.id}" for relation in self._charm.model.relations[endpoint])
        return [one for one in found if one != breaking]

    def remote_of(self, relation_id: str) -> str:
        if relation_id == self.relation_id and self.remote_application:
            return self.remote_application
        app = self._relation(relation_id).app
        if app is None:
            raise ToolError(f"{relation_id} has no application at its other side")
        return app.name

    def remote_units(self, relation_id: str) -> List[str]:
        return sorted(unit.name for unit in self._relation(relation_id).units)

    def databag(self, relation_id: str, name: str, is_application: bool = False) -> Dict[str, Any]:
        model = self._charm.model
        side = model.get_app(name) if is_application else model.get_unit(name)
        try:
            found: Mapping[str, str] = self._relation(relation_id).data[side]
            return {key: value for key, value in found.items() if key not in ADDRESS_KEYS}
        except (KeyError, ops.ModelError) as error:
            raise ToolError(f"the databag of {name} in {relation_id} cannot be read: {error}") from error

    def remote_model(self, relation_id: str) -> Optional[str]:
        try:
            # since ops 2.20 and Juju 3.6
            return self._relation(relation_id).remote_model.uuid
        except (AttributeError, ops.ModelError):
            return None

    def publish(self, relation_id: str, key: str, value: str) -> None:
        try:
            self._relation(relation_id).data[self._charm.app][key] = value
        except ops.ModelError as error:
            raise ToolError(f"{key} cannot be written to {relation_id}: {error}") from error

    def stays(self) -> Tuple[bool, bool]:
        if not self._is_tested:
            return super().stays()
        planned = self._charm.app.planned_units()
        return planned > 0, planned > 1

    def load(self) -> str:
        return "" if self._is_tested else super().load()

    def save(self, kept: str) -> None:
        if not self._is_tested:
            super().save(kept)

    def log(self, level: str, message: str) -> None:
        logger.log(getattr(logging, level), message)

    @property
    def _is_tested(self) -> bool:
        """Tells if the charm runs without an agent of Juju. Ops has nothing in place of three hook tools."""
        return shutil.which("state-get") is None

    @property
    def _charm(self) -> ops.CharmBase:
        if self.charm is None:
            raise ToolError("there is no charm")
        return self.charm

    def _relation(self, relation_id: str) -> ops.Relation:
        endpoint, _, number = relation_id.rpartition(":")
        relation = self._charm.model.get_relation(endpoint, int(number))
        if relation is None:
            raise ToolError(f"there is no relation {relation_id}")
        return relation
