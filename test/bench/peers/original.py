"""Reconciles labels with what the charm library calls for that: https://github.com/canonical/service-mesh

Asked over HTTP as the others are, by hand, so that it pays for no server.
"""

import json
import os
import socket

from canonical_service_mesh.utils.istio import label_configmap_name_template, reconcile_charm_labels
from lightkube import Client, KubeConfig
from lightkube.resources.core_v1 import ConfigMap

CREDENTIALS = "/var/run/secrets/kubernetes.io/serviceaccount"
# made once, where a charm makes it for each hook
client = Client(KubeConfig.from_service_account(os.environ["ROOT"] + CREDENTIALS))


def reconcile(event: dict) -> None:
    """Takes the labels of a beacon, or lets go of them, and of the memory, when its relation is broken."""
    application, namespace = event["application"], event["namespace"]
    # a charm has a client for its own namespace, and this one takes events of several
    client._client.namespace = namespace
    memory = label_configmap_name_template.format(app_name=application)
    remote = event.get("remote")
    labels = remote["data"]["labels"] if remote else {}
    reconcile_charm_labels(client, application, namespace, memory, labels)
    if not remote:
        client.delete(ConfigMap, memory)


def bodies(stream):
    while stream.readline():
        headers = {}
        while line := stream.readline().strip():
            name, value = line.split(b":", 1)
            headers[name.lower()] = value
        yield stream.read(int(headers[b"content-length"]))


with socket.create_server(("127.0.0.1", 0)) as server:
    print(json.dumps({"port": server.getsockname()[1]}, separators=(",", ":")), flush=True)
    while True:
        connection, _ = server.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb") as stream:
            for body in bodies(stream):
                reconcile(json.loads(body))
                connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")
