"""Stands in for Juju's hook tools: answers by the name it is called by, from the file that JUJU_STAND_IN names."""

import json
import os
import sys

tool = os.path.basename(sys.argv[0])
path = os.environ["JUJU_STAND_IN"]
with open(path, encoding="utf-8") as file:
    unit = json.load(file)
words = [word for word in sys.argv[1:] if word != "--format=json"]
values = [
    word for at, word in enumerate(words) if not word.startswith("-") and words[at - 1 : at] not in (["-r"], ["-l"])
]

# bytes that a tool is to print, or a text that it is to fail with
if tool in unit.get("prints", {}):
    sys.stdout.buffer.write(bytes.fromhex(unit["prints"][tool]))
    sys.exit(0)
if tool in unit.get("fails", {}):
    sys.exit(f"ERROR {unit['fails'][tool]}")


def keep() -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(unit, file)


def show(value: object) -> None:
    print(json.dumps(value))


relation = unit["relations"].get(words[words.index("-r") + 1]) if "-r" in words else None
if tool == "is-leader":
    show(unit["leader"])
elif tool == "config-get":
    show(unit["config"])
elif tool == "goal-state":
    show({"units": {name: {"status": status} for name, status in unit["units"].items()}, "relations": {}})
elif tool == "relation-ids":
    show([one for one in unit["relations"] if one.startswith(f"{values[0]}:")])
elif tool == "relation-list" and "--app" in words:
    show(relation["application"])
elif tool == "relation-list":
    show(list(relation["units"]))
elif tool == "relation-get":
    show(relation["data"] if "--app" in words else relation["units"][values[-1]])
elif tool == "relation-model-get":
    show({"uuid": relation.get("model") or os.environ["JUJU_MODEL_UUID"]})
elif tool == "relation-set" and not unit["leader"]:
    sys.exit("ERROR cannot write relation settings")
elif tool == "relation-set":
    relation.setdefault("own", {}).update([values[0].split("=", 1)])
    keep()
elif tool == "state-get":
    print(unit["state"].get(values[0], ""))
elif tool == "state-set":
    unit["state"].update([values[0].split("=", 1)])
    keep()
elif tool == "juju-log":
    unit["log"].append(" ".join(words[1:2] + words[3:]))
    keep()
elif tool == "status-set":
    unit["status"] = values
    keep()
else:
    sys.exit(f"{tool} is not among the stand-ins")
