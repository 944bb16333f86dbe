#!/usr/bin/env python3
"""A charm that does nothing but put its application on the mesh, without the ops library."""

import json

from meshstep import Endpoint, Meshstep, ToolError, run_tool

#: The same as in metadata.yaml.
ENDPOINTS = {
    "website": Endpoint("http", "provides"),
    "beacon": Endpoint("service_mesh", "provides"),
    "provide-cmr-mesh": Endpoint("cross_model_mesh", "provides"),
    "backend": Endpoint("http", "requires"),
    "service-mesh": Endpoint("service_mesh", "requires"),
    "require-cmr-mesh": Endpoint("cross_model_mesh", "requires"),
}


def main() -> None:
    options = json.loads(run_tool("config-get", "--format=json"))
    if not options.get("meshstep-url"):
        return set_status("blocked", "meshstep-url is not set")
    try:
        config = json.loads(options.get("meshstep-config") or "{}")
    except ValueError as error:
        return set_status("blocked", f"meshstep-config is no JSON: {error}")
    meshstep = Meshstep(
        url=options["meshstep-url"],
        endpoints=ENDPOINTS,
        config=config,
        token_file=options.get("meshstep-token-file") or None,
        audience=options.get("meshstep-audience") or None,
        budget=float(options.get("meshstep-seconds") or 10),
    )
    report = meshstep.tell()
    if report.problems:
        set_status("waiting", report.problems[0])
    elif report.status:
        set_status(*report.status)


def set_status(status: str, message: str) -> None:
    try:
        run_tool("status-set", status, message)
    except ToolError:
        pass  # a unit that is being removed has no status


if __name__ == "__main__":
    main()
