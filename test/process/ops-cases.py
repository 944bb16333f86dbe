"""Runs charms with the ops library in ops' own testing library, one case by its name. It needs ops[testing]."""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import ops
from ops import testing

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "juju"
sys.path.insert(0, str(EXAMPLE))

import meshstep  # noqa: E402
import ops_charm  # noqa: E402
from meshstep_ops import MeshMember, endpoints_of  # noqa: E402

META = {
    "name": "details",
    "provides": {"website": {"interface": "http"}, "beacon": {"interface": "service_mesh"}},
    "requires": {"service-mesh": {"interface": "service_mesh"}},
    "peers": {"peers": {"interface": "details_peers"}},
}

HERE = testing.Model(name="bookinfo")


class Sink:
    """Stands in for meshstep: gives one answer, and keeps the events."""

    def __init__(self, answer=None):
        self.events = []
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_error(404)

            def do_POST(self):
                sink.events.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(answer or {"status": "unchanged"}).encode())

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def types(self):
        return [event["type"].split(".")[2] for event in self.events]


def charm_at(url, own=ops.ActiveStatus("ready"), adds_status=True):
    """A charm with a status of its own: collected at the end of a hook, or set in it."""

    class Charm(ops.CharmBase):
        def __init__(self, framework):
            super().__init__(framework)
            told = meshstep.Meshstep(url, endpoints_of(self.meta), ops_charm.CONFIG, budget=0.2)
            self.mesh = MeshMember(self, told, adds_status=adds_status)
            if adds_status:
                framework.observe(self.on.collect_unit_status, self._on_collect)
            else:
                framework.observe(self.on.config_changed, self._on_config)

        def _on_collect(self, event):
            event.add_status(own)

        def _on_config(self, _):
            self.unit.status = own

    return Charm


def run(charm, event, state=None, **context):
    """Runs an event; the model is `bookinfo`, and the unit leads."""
    ran = testing.Context(charm, meta=META, **context)
    return ran.run(event(ran.on), state or state_of())


def state_of(**state):
    return testing.State(**{"leader": True, "model": HERE, **state})


def leader_elected(on):
    return on.leader_elected()


def config_changed(on):
    return on.config_changed()


def equal(found, expected):
    if found != expected:
        raise SystemExit(f"expected {expected}, found {found}")


NOBODY = "http://127.0.0.1:1"


def tells_all():
    sink = Sink()
    site = testing.Relation("website", remote_app_name="productpage", id=3)
    data = {"mesh_type": '"istio"'}
    mesh = testing.Relation("service-mesh", remote_app_name="beacon", id=1, remote_app_data=data)
    peers = testing.PeerRelation("peers", id=2)
    state = run(charm_at(sink.url), leader_elected, state_of(relations=[site, mesh, peers]))
    equal(sorted(sink.types()), ["config-changed", "leader-elected", *["relation-changed"] * 3])
    told = {one["data"]["relation"]["id"]: one["data"] for one in sink.events if "relation" in one["data"]}
    equal(told[1]["remote"], {"application": "beacon", "data": {"mesh_type": '"istio"'}, "units": {"beacon/0": {}}})
    equal(told[2]["relation"], {"id": 2, "endpoint": "peers", "interface": "details_peers", "role": "peers"})
    equal(told[3]["remote"], {"application": "productpage", "data": {}})
    equal({event["subject"] for event in sink.events}, {"bookinfo/details"})
    equal(state.unit_status, testing.ActiveStatus("ready"))


def tells_an_end():
    sink = Sink()
    site = testing.Relation("website", remote_app_name="productpage", id=3)
    run(charm_at(sink.url), lambda on: on.relation_broken(site), state_of(relations=[site]))
    equal(sink.types(), ["relation-broken"])
    equal(sink.events[0]["data"], {"relation": {"id": 3, "interface": "http"}})


def leaves_it_to_the_leader():
    sink = Sink()
    run(charm_at(sink.url), config_changed, state_of(leader=False))
    equal(sink.types(), [])


def takes_an_action_for_no_hook():
    sink = Sink()
    run(charm_at(sink.url), lambda on: on.action("remove"), actions={"remove": {}})
    equal(sink.types(), [])


def adds_a_wait():
    state = run(charm_at(NOBODY), config_changed)
    equal(state.unit_status.name, "waiting")
    equal(state.unit_status.message.startswith("meshstep: the config, and what comes after it, is not told"), True)


def yields_to_a_worse_status():
    state = run(charm_at(NOBODY, own=ops.BlockedStatus("no database")), config_changed)
    equal(state.unit_status, testing.BlockedStatus("no database"))


def adds_what_the_application_waits_for():
    waiting = {"status": "waiting", "message": "waiting for shop"}
    sink = Sink({"status": "waiting", "applicationStatus": waiting})
    state = run(charm_at(sink.url), config_changed)
    equal(state.unit_status, testing.WaitingStatus("meshstep: waiting for shop"))


def leaves_the_status_alone():
    state = run(charm_at(NOBODY, own=ops.ActiveStatus("set"), adds_status=False), config_changed)
    equal(state.unit_status, testing.ActiveStatus("set"))


def finds_an_alias():
    sink = Sink()
    alias = f"remote-{'0' * 32}"
    said = {"cmr_data": json.dumps({"app_name": "orders", "juju_model_name": "front"})}
    # earlier versions know no models of remote applications, as an earlier Juju
    model = {"remote_model_uuid": "another"} if hasattr(testing.Relation, "remote_model_uuid") else {}
    mesh = testing.Relation("beacon", remote_app_name=alias, id=1, remote_app_data=said, **model)
    state = run(charm_at(sink.url), lambda on: on.relation_created(mesh), state_of(relations=[mesh]))
    (told,) = [event["data"]["remote"] for event in sink.events]
    equal((told["namespace"], told["application"], told["data"]), ("front", "orders", {}))
    own = json.loads(state.get_relation(1).local_app_data["cmr_data"])
    equal(own, {"app_name": "details", "juju_model_name": "bookinfo"})


def runs_the_example():
    state = run(ops_charm.DetailsCharm, lambda on: on.install())
    equal(state.unit_status, testing.ActiveStatus())


if __name__ == "__main__":
    globals()[sys.argv[1]]()
