#!/usr/bin/env bash
# A cluster of kind with Istio in ambient mode, Knative and meshstep, whose image is built here. It takes some ten minutes, most of it downloads.
#   examples/kind/up.sh && kubectl meshstep check
# It needs docker, kind, kubectl and istioctl. `kind delete cluster --name meshstep` removes all of it.
set -euo pipefail
cd "$(dirname "$0")/../.."

cluster=${CLUSTER:-meshstep}
gateway_api=${GATEWAY_API:-v1.3.0}
serving=${SERVING:-v1.21.0}
eventing=${EVENTING:-v1.22.0}
kourier=${KOURIER:-v1.21.0}

for program in docker kind kubectl istioctl; do
  command -v "$program" >/dev/null || { echo "$program is missing: install it first" >&2; exit 1; }
done

knative() { echo "https://github.com/$1/releases/download/knative-$2/$3"; }
apply() { kubectl apply --server-side --filename "$1"; }
ready() { kubectl wait --namespace "$1" --for=condition=Available --timeout=300s deployments --all; }

kind get clusters | grep --quiet --line-regexp "$cluster" || kind create cluster --name "$cluster"
kubectl config use-context "kind-$cluster"

echo '— Istio in ambient mode'
apply "https://github.com/kubernetes-sigs/gateway-api/releases/download/$gateway_api/standard-install.yaml"
istioctl install --set profile=ambient --skip-confirmation
ready istio-system

echo '— Knative'
apply "$(knative knative/serving "$serving" serving-crds.yaml)"
apply "$(knative knative/serving "$serving" serving-core.yaml)"
apply "$(knative knative-extensions/net-kourier "$kourier" kourier.yaml)"
kubectl patch configmap config-network --namespace knative-serving --type merge \
  --patch '{"data":{"ingress-class":"kourier.ingress.networking.knative.dev"}}'
for file in eventing-crds eventing-core in-memory-channel mt-channel-broker; do
  apply "$(knative knative/eventing "$eventing" "$file.yaml")"
done
ready knative-serving
ready knative-eventing

echo '— meshstep'
docker build --tag dev.local/meshstep:dev .
kind load docker-image dev.local/meshstep:dev --name "$cluster"
kubectl create namespace meshstep --dry-run=client --output yaml | kubectl apply --filename -
kubectl apply --kustomize knative/overlays/dev-without-authentication
kubectl wait --namespace meshstep --for=condition=Ready --timeout=300s ksvc,triggers.eventing.knative.dev --all
echo "— done: kubectl apply --filename examples/kind/first.yaml, and then kubectl meshstep --namespace meshstep get applications"
