"""Tells meshstep what happens to a Juju application, from the hooks of its charm.

A charm calls `Meshstep(...).tell()` once in each hook. The leader tells the config and the relations; any unit, that its
pod started. What was not taken is told again by the next hook of the leader, `update-status` at the latest, and does not
fail the hook unless `strict` is set. It needs Python 3.8 or later, and nothing but its standard library. Charms with the
ops library use `meshstep_ops.py` beside it.
"""

from __future__ import annotations

import base64
import json
import os
import random
import re
import ssl
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import AbstractSet, Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple
from urllib.parse import quote, urlsplit

#: Interfaces whose databags meshstep reads. Those of other interfaces may hold credentials, and stay in Juju.
READ_INTERFACES = frozenset(
    [
        "certificate_transfer",
        "cluster",
        "cross_model_mesh",
        "k8s-service",
        "loki_push_api",
        "prometheus_remote_write",
        "service_mesh",
        "tracing",
    ]
)

#: Interfaces of whose databags meshstep reads some keys alone.
READ_KEYS: Mapping[str, AbstractSet[str]] = {"prometheus_scrape": frozenset(["scrape_jobs"])}

#: The interface with a beacon. Both sides say there who they are, as Juju names an application of another model by an alias.
MESH = "service_mesh"

#: The interface, and the key, by which a client tells its name in its own model.
CROSS_MODEL_MESH = "cross_model_mesh"
IDENTITY_KEY = "cmr_data"

#: The alias that Juju gives to whoever consumes an offer.
OFFER_ALIAS = re.compile(r"remote-[0-9a-f]{32}")

#: Where Kubernetes puts the account of a pod.
ACCOUNT_DIRECTORY = "/var/run/secrets/kubernetes.io/serviceaccount"

#: Keys that Juju writes into each unit's databag: addresses of pods, which change with each of them.
ADDRESS_KEYS = frozenset(["egress-subnets", "ingress-address", "private-address"])

#: Answers after which the same request may succeed a moment later.
PASSING_STATUSES = frozenset([429, 502, 503, 504])

RELATION_EVENTS = ("created", "joined", "changed", "departed", "broken")

TOOL_SECONDS = 30.0
LONGEST_ATTEMPT_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 4.0
TOKEN_SECONDS = 600
LONGEST_ANSWER_BYTES = 8 * 1024 * 1024


class MeshstepError(Exception):
    """Something was not told, and the charm asked to fail then; or this is no hook."""


class ToolError(Exception):
    """A hook tool failed, or printed something that it never prints."""


class NotTaken(Exception):
    """A request that meshstep refused."""


class OutOfTime(NotTaken):
    """A request that meshstep did not take in the time of the hook; there is none for others."""


class NotNamed(Exception):
    """A relation with an application of another model that has not said its name yet. A later hook tells it."""


@dataclass(frozen=True)
class Endpoint:
    """An endpoint as the charm's metadata declares it; the role is `provides`, `requires` or `peers`."""

    interface: str
    role: str


@dataclass
class Report:
    """The outcome of a hook: what was not told, and the application's status if meshstep answered."""

    problems: List[str] = field(default_factory=list)
    #: A status and a message for `status-set`.
    status: Optional[Tuple[str, str]] = None
    told: List[str] = field(default_factory=list)


def run_tool(*command: str) -> str:
    """Runs a hook tool and returns what it prints. Raises ToolError when it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TOOL_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip()
        raise ToolError(f"{' '.join(command)} ended with {done.returncode}: {reason}")
    try:
        return done.stdout.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolError(f"{' '.join(command)} printed something that is not UTF-8") from error


def log(level: str, message: str) -> None:
    """Writes a line to Juju's log; to stderr where `juju-log` does not take it."""
    try:
        run_tool("juju-log", "-l", level, "--", f"meshstep: {message}")
    except ToolError:
        print(f"{level} meshstep: {message}", file=sys.stderr)


def hook_name() -> str:
    """Returns the name of the hook that runs, such as `config-changed`; an action stays `actions/remove`."""
    path = os.environ.get("JUJU_DISPATCH_PATH") or os.environ.get("JUJU_HOOK_NAME") or os.path.basename(sys.argv[0])
    return path[len("hooks/") :] if path.startswith("hooks/") else path


@dataclass(frozen=True)
class Hook:
    """The hook that runs: its environment, and what the hook tools say."""

    name: str
    unit: str
    model: str
    model_uuid: str
    relation_id: Optional[str]
    remote_application: Optional[str]

    @classmethod
    def current(cls) -> "Hook":
        """Reads the environment. Raises MeshstepError where it is not that of a hook."""
        missing = [key for key in ("JUJU_UNIT_NAME", "JUJU_MODEL_NAME") if not os.environ.get(key)]
        if missing:
            raise MeshstepError(f"{' and '.join(missing)} not set: meshstep is told from hooks alone")
        return cls(
            name=hook_name(),
            unit=os.environ["JUJU_UNIT_NAME"],
            model=os.environ["JUJU_MODEL_NAME"],
            model_uuid=os.environ.get("JUJU_MODEL_UUID") or os.environ["JUJU_MODEL_NAME"],
            relation_id=os.environ.get("JUJU_RELATION_ID") or None,
            remote_application=os.environ.get("JUJU_REMOTE_APP") or None,
        )

    @property
    def application(self) -> str:
        return self.unit.split("/")[0]

    def relation_event(self) -> Optional[Tuple[str, str]]:
        """Returns the endpoint and the event of a relation's hook."""
        for event in RELATION_EVENTS:
            if self.relation_id and self.name.endswith(f"-relation-{event}"):
                return self.name[: -len(f"-relation-{event}")], event
        return None

    def is_leader(self) -> bool:
        return bool(self._ask(bool, "is-leader"))

    def relation_ids(self, endpoint: str) -> List[str]:
        """Lists the relations of an endpoint, as `details:3`, but for the one that is breaking."""
        found = self._ask(list, "relation-ids", endpoint)
        breaking = self.relation_id if self.name.endswith("-relation-broken") else None
        return [str(one) for one in found if one != breaking]

    def remote_of(self, relation_id: str) -> str:
        """Names the application at the other side; an alias, where it is in another model."""
        if relation_id == self.relation_id and self.remote_application:
            return self.remote_application
        return str(self._ask(str, "relation-list", "-r", relation_id, "--app"))

    def remote_units(self, relation_id: str) -> List[str]:
        return [str(one) for one in self._ask(list, "relation-list", "-r", relation_id)]

    def databag(self, relation_id: str, name: str, is_application: bool = False) -> Dict[str, Any]:
        """Reads the databag of an application or a unit at the other side."""
        flags = ["--app"] if is_application else []
        found = self._ask(dict, "relation-get", "-r", relation_id, *flags, "-", name)
        return {key: value for key, value in found.items() if key not in ADDRESS_KEYS}

    def remote_model(self, relation_id: str) -> Optional[str]:
        """Returns the UUID of the model at the other side; None where Juju is too old to tell it."""
        try:
            return self._ask(dict, "relation-model-get", "-r", relation_id).get("uuid")
        except ToolError:
            return None

    def publish(self, relation_id: str, key: str, value: str) -> None:
        """Writes a key of the application's own databag. Only the leader may."""
        run_tool("relation-set", "-r", relation_id, "--app", f"{key}={value}")

    def load(self) -> str:
        """Reads what the unit remembers in Juju, which keeps it for the unit whatever becomes of its pod."""
        return run_tool("state-get", "meshstep").strip()

    def save(self, kept: str) -> None:
        run_tool("state-set", f"meshstep={kept}")

    def log(self, level: str, message: str) -> None:
        log(level, message)

    def is_elsewhere(self, relation_id: str, alias: str) -> bool:
        """Tells if the application at the other side is in another model, so that its name here is an alias."""
        model = self.remote_model(relation_id)
        return OFFER_ALIAS.fullmatch(alias) is not None if model is None else model != self.model_uuid

    def identity(self) -> str:
        """Says who the application is in its own model, as the charm library does."""
        return json.dumps({"app_name": self.application, "juju_model_name": self.model})

    def stays(self) -> Tuple[bool, bool]:
        """Tells if this unit stays, and if any other one does."""
        units = self._ask(dict, "goal-state").get("units") or {}
        staying = {name for name, unit in units.items() if (unit or {}).get("status") != "dying"}
        return self.unit in staying, bool(staying - {self.unit})

    def _ask(self, kind: type, tool: str, *arguments: str) -> Any:
        """Asks a hook tool for JSON of one type; nothing counts as empty, but for a name."""
        text = run_tool(tool, "--format=json", *arguments)
        try:
            value = json.loads(text) if text.strip() else None
        except ValueError as error:
            raise ToolError(f"{' '.join((tool,) + arguments)} printed no JSON: {text.strip()[:80]}") from error
        if value is None and kind is not str:
            return kind()
        if not isinstance(value, kind):
            raise ToolError(f"{' '.join((tool,) + arguments)} printed {text.strip()[:80]}, expected a {kind.__name__}")
        return value


@dataclass
class State:
    """What the unit remembers between hooks."""

    sequence: int = 0
    #: Something was not told: the next hook of the leader tells everything.
    missed: bool = False

    @classmethod
    def parse(cls, text: str) -> "State":
        """Reads what was kept. What cannot be read is empty, and everything is told again."""
        if not text:
            return cls()
        try:
            kept = json.loads(text)
            return cls(int(kept["sequence"]), bool(kept["missed"]))
        except (ValueError, TypeError, KeyError):
            return cls(missed=True)

    def text(self) -> str:
        return json.dumps({"sequence": self.sequence, "missed": self.missed})

    def next_sequence(self) -> int:
        """Counts up. A time in microseconds goes on with the next leader; the count goes on when a clock goes back."""
        self.sequence = max(self.sequence + 1, int(time.time() * 1_000_000))
        return self.sequence


class Tokens:
    """Tokens for functions that have `EVENT_AUDIENCE` set: from a file, from the API server, or none."""

    def __init__(self, token_file: Optional[str], audience: Optional[str], account: str) -> None:
        self._file = token_file
        self._audience = audience
        self._account = account
        self._requested: Optional[str] = None

    def token(self, seconds: float) -> Optional[str]:
        """Reads the file each time, as the kubelet renews it; asks the API server once. Raises NotTaken."""
        if self._file is not None:
            return _read_token(self._file)
        if self._audience is not None and self._requested is None:
            self._requested = self._request(self._audience, seconds)
        return self._requested

    def _request(self, audience: str, seconds: float) -> str:
        """Asks for a token of the charm's own account (TokenRequest). That takes a trusted charm."""
        own = _read_token(os.path.join(self._account, "token"))
        namespace, name = _account_in(own)
        spec = {"audiences": [audience], "expirationSeconds": TOKEN_SECONDS}
        body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        headers = {"authorization": f"Bearer {own}", "content-type": "application/json"}
        try:
            context = ssl.create_default_context(cafile=os.path.join(self._account, "ca.crt"))
            connection = HTTPSConnection(*_api_server(), timeout=seconds, context=context)
            try:
                path = f"/api/v1/namespaces/{quote(namespace)}/serviceaccounts/{quote(name)}/token"
                connection.request("POST", path, body.encode("utf-8"), headers)
                response = connection.getresponse()
                text = response.read(LONGEST_ANSWER_BYTES).decode("utf-8", "replace")
            finally:
                connection.close()
        except (OSError, HTTPException) as error:
            raise NotTaken(f"the API server gives no token: {error or type(error).__name__}") from error
        token = (_object_in(text).get("status") or {}).get("token")
        if response.status == 201 and isinstance(token, str):
            return token
        reason = _object_in(text).get("message") or text[:200]
        trust = f"; juju trust {name} --scope=cluster lets it" if response.status == 403 else ""
        raise NotTaken(f"the API server gives no token: it answers {response.status}: {reason}{trust}")


def _api_server() -> Tuple[str, int]:
    return os.environ.get("KUBERNETES_SERVICE_HOST", ""), int(os.environ.get("KUBERNETES_SERVICE_PORT", "443"))


def _read_token(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            (token,) = file.read().split()
            return token
    except (OSError, ValueError) as error:
        raise NotTaken(f"the token cannot be read: {error}") from error


def _account_in(token: str) -> Tuple[str, str]:
    """Returns the namespace and the name of the account whose token it is."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        _, _, namespace, name = claims["sub"].split(":")
        return namespace, name
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise NotTaken("the token of the pod is none of a ServiceAccount") from error


@dataclass(frozen=True)
class Client:
    """Sends requests to meshstep until the deadline, and tries those again that may succeed then."""

    url: str
    tokens: Tokens
    budget: float
    deadline: float

    def post(self, event: Mapping[str, Any]) -> Dict[str, Any]:
        """Sends an event and returns the outcome, empty where a broker answers. Raises NotTaken."""
        body = json.dumps(event).encode("utf-8")
        status, text = self._request("POST", "", body)
        if 200 <= status < 300:
            return _object_in(text)
        raise NotTaken(f"{self.url} answers {status}: {_object_in(text).get('message') or text[:200]}")

    def get(self, path: str) -> Optional[Dict[str, Any]]:
        """Asks a question; None where nothing is known of it, or nobody answers questions there. Raises NotTaken."""
        status, text = self._request("GET", path, None)
        if status in (404, 405):
            return None
        if status == 200:
            return _object_in(text)
        raise NotTaken(f"{self.url}{path} answers {status}: {_object_in(text).get('message') or text[:200]}")

    def _request(self, method: str, path: str, body: Optional[bytes]) -> Tuple[int, str]:
        attempts = 0
        while True:
            attempts += 1
            pause = min(0.1 * 2**attempts, LONGEST_PAUSE_SECONDS) * random.uniform(0.5, 1)
            try:
                status, retry_after, text = self._attempt(method, path, body)
                if status not in PASSING_STATUSES:
                    return status, text
                why = f"answers {status}: {_object_in(text).get('message') or text[:200]}"
                pause = pause if retry_after is None else retry_after + random.uniform(0, 0.1)
            except (OSError, HTTPException) as error:
                why = f"does not answer: {error or type(error).__name__}"
            if time.monotonic() + pause >= self.deadline:
                tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
                raise OutOfTime(f"{self.url} {why}; given up after {tries}, as the hook has {self.budget:g} s for it")
            time.sleep(pause)

    def _attempt(self, method: str, path: str, body: Optional[bytes]) -> Tuple[int, Optional[float], str]:
        """Sends one request, to the URL alone: not to a proxy of the environment, nor where an answer points."""
        scheme, host, port, prefix = self._address()
        seconds = max(min(self.deadline - time.monotonic(), LONGEST_ATTEMPT_SECONDS), 0.1)
        headers = {"accept": "application/json"}
        token = self.tokens.token(seconds)
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        if body is not None:
            headers["content-type"] = "application/cloudevents+json; charset=utf-8"
        connection = (HTTPSConnection if scheme == "https" else HTTPConnection)(host, port, timeout=seconds)
        try:
            connection.request(method, f"{prefix}{path}" or "/", body, headers)
            response = connection.getresponse()
            text = response.read(LONGEST_ANSWER_BYTES).decode("utf-8", "replace")
            return response.status, _seconds_in(response.getheader("retry-after")), text
        finally:
            connection.close()

    def _address(self) -> Tuple[str, str, Optional[int], str]:
        try:
            parts = urlsplit(self.url)
            if parts.scheme in ("http", "https") and parts.hostname:
                return parts.scheme, parts.hostname, parts.port, parts.path
        except ValueError:
            pass  # a port or an address that cannot be
        raise NotTaken(f"{self.url}: expected http://host[:port][/path]")


def _object_in(text: str) -> Dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _seconds_in(retry_after: Optional[str]) -> Optional[float]:
    """Reads a Retry-After, which is a number of seconds or a date."""
    if retry_after is None:
        return None
    if retry_after.strip().isdigit():
        return float(retry_after)
    try:
        date = parsedate_to_datetime(retry_after)
    except (TypeError, ValueError):
        return None
    return max(0.0, (date - datetime.now(date.tzinfo)).total_seconds())


#: One thing to tell: its name in messages, and what makes the event's type and data when it is its turn.
Telling = Tuple[str, Callable[[], Tuple[str, Dict[str, Any]]]]


@dataclass(frozen=True)
class Meshstep:
    """The application's side of meshstep, for the hooks of its charm."""

    #: The functions, as `http://meshstep.shop.svc.cluster.local`.
    url: str
    #: The charm's endpoints, by name.
    endpoints: Mapping[str, Endpoint]
    #: The application's config, as docs/config.md has it; None where somebody else tells it.
    config: Optional[Mapping[str, Any]] = None
    #: A file with a token, such as one of a projected volume, for functions that have `EVENT_AUDIENCE` set.
    token_file: Optional[str] = None
    #: The same audience, where no file has a token: a trusted charm asks the API server for one.
    audience: Optional[str] = None
    #: The namespace and the real name of applications of other models whose charms do not say them, by their alias here.
    remotes: Mapping[str, Tuple[str, str]] = field(default_factory=dict)
    #: Interfaces whose databags are told.
    read_interfaces: AbstractSet[str] = READ_INTERFACES
    #: Seconds that a hook waits for meshstep; a pod that is stopped has 30 for all of its hooks.
    budget: float = 10.0
    #: Fails the hook, so that Juju runs it again, when something was not told.
    strict: bool = False
    #: The folder with the account of the pod.
    account: str = ACCOUNT_DIRECTORY

    def tell(self, hook: Optional[Hook] = None) -> Report:
        """Tells what the hook that runs means, once. Raises MeshstepError outside of a hook, or when it is strict."""
        turn = hook or Hook.current()
        report = Report()
        state = self._loaded(turn, report)
        before = replace(state)
        client = self._client()
        self._send(turn, client, self._tellings(turn, client, state), state, report)
        state.missed = state.missed or bool(report.problems)
        if state != before:
            self._saved(turn, state, report)
        for problem in report.problems:
            turn.log("WARNING", problem)
        if self.strict and report.problems:
            raise MeshstepError("; ".join(report.problems))
        return report

    def _tellings(self, hook: Hook, client: Client, state: State) -> Iterator[Telling]:
        """Decides what the hook means. Raises ToolError or NotTaken where the rest cannot be known."""
        if hook.name == "remove":
            if not hook.stays()[1]:
                yield "the removal", lambda: ("application-removed", {})
            return
        if hook.name == "start":
            yield "the start", lambda: ("resync", {})
        if not hook.is_leader():
            return
        if state.missed or hook.name in ("leader-elected", "upgrade-charm"):
            yield from self._everything(hook, client, state)
        elif hook.name == "config-changed":
            yield from self._config(hook)
        else:
            yield from self._current(hook)

    def _current(self, hook: Hook) -> Iterator[Telling]:
        """Tells what the hook of a relation is about."""
        relation = hook.relation_event()
        if relation is None or relation[0] not in self.endpoints or hook.relation_id is None:
            return
        endpoint, event = relation
        if event in ("departed", "broken") and _is_leaving(hook):
            return
        if event == "broken":
            yield self._ended(endpoint, hook.relation_id)
        else:
            yield self._told(hook, endpoint, hook.relation_id)

    def _everything(self, hook: Hook, client: Client, state: State) -> Iterator[Telling]:
        """Tells all that Juju knows, and the end of what meshstep alone still knows."""
        if _is_leaving(hook):
            return
        state.missed = False
        yield f"the leader {hook.unit}", lambda: ("leader-elected", {"unit": hook.unit})
        if hook.name.endswith("-relation-broken"):
            yield from self._current(hook)
        known = {endpoint: hook.relation_ids(endpoint) for endpoint in self.endpoints}
        for endpoint, ids in known.items():
            for one in ids:
                yield self._told(hook, endpoint, one)
        yield from self._config(hook)
        numbers = {_number(one) for ids in known.values() for one in ids}
        view = client.get(f"/applications/{quote(hook.model)}/{quote(hook.application)}") or {}
        for one in view.get("relations", []):
            is_ours = one.get("endpoint") in known and one.get("stands") and "document" not in one
            if is_ours and one.get("id") not in numbers:
                yield self._ended(one["endpoint"], f"{one['endpoint']}:{one['id']}")

    def _config(self, hook: Hook) -> Iterator[Telling]:
        if self.config is not None:
            data = {"config": self.config, "unit": hook.unit}
            yield "the config", lambda: ("config-changed", data)

    def _told(self, hook: Hook, endpoint: str, relation_id: str) -> Telling:
        """Tells that a relation stands, with the databags of the other side where meshstep reads them."""
        interface, role = self.endpoints[endpoint].interface, self.endpoints[endpoint].role

        def make() -> Tuple[str, Dict[str, Any]]:
            alias = hook.application if role == "peers" else hook.remote_of(relation_id)
            remote: Dict[str, Any] = {"application": alias, "data": {}}
            if role == "requires" and interface == CROSS_MODEL_MESH:
                hook.publish(relation_id, IDENTITY_KEY, hook.identity())
            if role != "peers" and interface in self.read_interfaces:
                remote["data"] = hook.databag(relation_id, alias, is_application=True)
                remote["units"] = {unit: hook.databag(relation_id, unit) for unit in hook.remote_units(relation_id)}
            elif interface in READ_KEYS:
                bag = hook.databag(relation_id, alias, is_application=True)
                remote["data"] = {key: value for key, value in bag.items() if key in READ_KEYS[interface]}
            if alias in self.remotes:
                remote["namespace"], remote["application"] = self.remotes[alias]
            elif interface == MESH and hook.is_elsewhere(relation_id, alias):
                hook.publish(relation_id, IDENTITY_KEY, hook.identity())
                said = remote["data"].pop(IDENTITY_KEY, None)
                remote["namespace"], remote["application"] = _identity_in(hook, alias, said)
            relation = {"id": _number(relation_id), "endpoint": endpoint, "interface": interface, "role": role}
            return "relation-changed", {"relation": relation, "remote": remote}

        return f"relation {relation_id}", make

    def _ended(self, endpoint: str, relation_id: str) -> Telling:
        data = {"relation": {"id": _number(relation_id), "interface": self.endpoints[endpoint].interface}}
        return f"the end of relation {relation_id}", lambda: ("relation-broken", data)

    def _loaded(self, hook: Hook, report: Report) -> State:
        try:
            return State.parse(hook.load())
        except ToolError as error:
            report.problems.append(f"the state of the unit cannot be read: {error}")
            return State(missed=True)

    def _saved(self, hook: Hook, state: State, report: Report) -> None:
        try:
            hook.save(state.text())
        except ToolError as error:
            report.problems.append(f"the state of the unit cannot be kept: {error}")

    def _client(self) -> Client:
        tokens = Tokens(self.token_file, self.audience, self.account)
        return Client(self.url.rstrip("/"), tokens, self.budget, time.monotonic() + self.budget)

    def _send(
        self, hook: Hook, client: Client, tellings: Iterator[Telling], state: State, report: Report
    ) -> None:
        """Sends the events one after the other. One that is refused stops none after it."""
        try:
            for name, make in tellings:
                try:
                    kind, data = make()
                    outcome = client.post(self._event(hook, kind, data, state.next_sequence()))
                except NotNamed as error:
                    hook.log("INFO", f"{name} is told later: {error}")
                    continue
                except OutOfTime as error:
                    report.problems.append(f"{name}, and what comes after it, is not told: {error}")
                    return
                except (ToolError, NotTaken) as error:
                    report.problems.append(f"{name} is not told: {error}")
                    continue
                report.told.append(name)
                report.status = _status_in(outcome) or report.status
                hook.log("INFO", f"{name} is told: {outcome.get('status', 'accepted')}")
        except (ToolError, NotTaken) as error:
            report.problems.append(f"not all is told in {hook.name}: {error}")

    def _event(self, hook: Hook, kind: str, data: Dict[str, Any], sequence: int) -> Dict[str, Any]:
        """Makes a CloudEvent. All units share the source, so the sequence orders them all."""
        return {
            "specversion": "1.0",
            "id": str(uuid.uuid4()),
            "source": f"/juju/{hook.model_uuid}/{hook.application}",
            "type": f"dev.meshstep.{kind}.v1",
            "subject": f"{hook.model}/{hook.application}",
            "time": datetime.now(timezone.utc).isoformat(),
            "sequence": str(sequence),
            "datacontenttype": "application/json",
            "data": data,
        }


def _is_leaving(hook: Hook) -> bool:
    """A unit that goes while others stay has no say about the application: its relations stand."""
    stays, others_stay = hook.stays()
    return not stays and others_stay


def _number(relation_id: str) -> int:
    """Returns the number in a relation's id, `details:3`."""
    try:
        return int(relation_id.rpartition(":")[2])
    except ValueError as error:
        raise ToolError(f"{relation_id} is no id of a relation") from error


def _status_in(outcome: Mapping[str, Any]) -> Optional[Tuple[str, str]]:
    """Returns what `status-set` takes; an error of the application is one that somebody has to mend."""
    if "status" not in outcome:
        return None
    found = outcome.get("applicationStatus") or {}
    status = str(found.get("status", "active"))
    return "blocked" if status == "error" else status, str(found.get("message", ""))


def _identity_in(hook: Hook, alias: str, said: Any) -> Tuple[str, str]:
    """Reads the namespace and the name that an application of another model says it has. Raises NotNamed."""
    try:
        value = json.loads(said) if isinstance(said, str) else said
        namespace, name = value["juju_model_name"], value["app_name"]
    except (ValueError, TypeError, KeyError) as error:
        raise NotNamed(f"{alias} is in another model, and has not said its name ({IDENTITY_KEY}) yet") from error
    if not all(isinstance(one, str) and one for one in (namespace, name)) or namespace == hook.model:
        raise NotNamed(f"{alias} is in another model, and says that it is {namespace}/{name}")
    return namespace, name
