import type { RuleId } from './rule-ids.ts'

/** A kind of finding: its level, its meaning and the remedy. */
export type Rule = {
  /** A level of SARIF: `error` is a certain mistake, `warning` a probable one, `note` is information. */
  readonly level: 'error' | 'warning' | 'note'
  readonly title: string
  readonly meaning: string
  readonly remedy: string
}

/** All findings by id. The rules of SARIF and the page of the docs are generated from this table. */
export const RULES: Readonly<Record<RuleId, Rule>> = {
  'account-unknown': {
    level: 'warning',
    title: 'A policy names an account that nobody has',
    meaning:
      'The namespace has no ServiceAccount of that name, and no pod, workload or Gateway there runs as it: no client matches the policy. An account that exists counts, even if nothing runs as it at the moment, as with a CronJob. Accounts of another trust domain are not checked.',
    remedy: 'Correct the name, or make that ServiceAccount and run the client as it.',
  },
  'allow-hidden': {
    level: 'warning',
    title: 'A rule of an ALLOW lets in nobody, because of a DENY',
    meaning: 'DENY policies of the same proxies refuse each request that the rule matches. A DENY always wins.',
    remedy: 'Remove the policy that is not intended, or narrow it.',
  },
  'allow-on-tcp': {
    level: 'warning',
    title: 'An ALLOW of HTTP lets in nobody on a port that carries TCP',
    meaning:
      'On a port that is not HTTP a waypoint sees no methods, paths, hosts or tokens. An ALLOW rule with any of these fields never matches there.',
    remedy:
      'Write a separate rule without HTTP fields for that port, or correct the protocol of the port in the Service.',
  },
  'allow-unknown': {
    level: 'warning',
    title: 'An annotation or a comment allows an unknown id',
    meaning: 'No finding has that id, so the annotation or the comment has no effect.',
    remedy: 'Correct the id, or remove it.',
  },
  'audit-unseen': {
    level: 'note',
    title: 'Requests that dry runs would refuse are not seen here',
    meaning:
      'Policies are dry runs. Waypoints and Gateways count the requests that these would refuse, and log them at the level debug. This finding does not read the counts. A ztunnel gets no dry runs.',
    remedy:
      'Before enforcement is switched on, ask `meshstep traffic` with a Prometheus, and plan the config without audit. Explain says what each dry run would do.',
  },
  blocked: {
    level: 'error',
    title: 'An application is refused something, fails, or is blocked',
    meaning: 'The API server refuses an object of it, its pods fail, or it says itself that somebody has to act.',
    remedy: 'As the message says.',
  },
  'databag-unserved': {
    level: 'warning',
    title: 'A relation tells something that is not served',
    meaning:
      'The data of a relation cannot be read, or name something that meshstep cannot do for the application, such as a scrape target elsewhere. The message says what stays in effect.',
    remedy:
      'Correct what the application, or its config, publishes in the relation. If it is meant for somebody else, allow it.',
  },
  'deny-idle': {
    level: 'note',
    title: 'A DENY refuses only requests that no ALLOW lets in',
    meaning:
      'No ALLOW policy of the same proxies allows the requests that it names, so they are refused without the DENY as well.',
    remedy: 'Correct it, if it should refuse something. It may stay as a guard against later policies.',
  },
  'deny-on-tcp': {
    level: 'warning',
    title: 'A DENY of HTTP refuses more on ports that carry TCP',
    meaning:
      'On a port that is not HTTP a waypoint sees no methods, paths, hosts or tokens. There Istio drops these fields from a DENY rule, and the rest of the rule refuses more, perhaps everything. The name or the appProtocol of a Service port gives its protocol. A port with neither may carry both.',
    remedy: 'Name the HTTP ports in the rule, or declare the protocol of the port in the Service.',
  },
  'document-refused': {
    level: 'error',
    title: 'A document was refused',
    meaning:
      'A document cannot be read, or one in a ConfigMap requests more than its author may. Its last content stays in effect.',
    remedy: 'Correct the document as the message says, and apply it again.',
  },
  'endpoint-unknown': {
    level: 'warning',
    title: 'A config names an endpoint that no relation has',
    meaning: 'The config has no effect for that endpoint: its policies allow nobody.',
    remedy: 'Correct the name, or relate an application over that endpoint.',
  },
  'endpoint-unnamed': {
    level: 'note',
    title: 'A relation grants nothing, as no policy names its endpoint',
    meaning:
      'The config lists policies by endpoint, and the endpoint of this relation stands nowhere in it: the relation lets its client in nowhere. That is as it should be where no traffic goes with the relation.',
    remedy: 'Relate the application over the endpoint that is meant, or add a policy for this one.',
  },
  expectation: {
    level: 'error',
    title: 'An expectation is not met',
    meaning:
      'A config expects a request to pass, or not to pass. The request does otherwise, or its result is unknown.',
    remedy: 'Change the policies, or the expectation.',
  },
  'grant-without-effect': {
    level: 'warning',
    title: 'A workload has a grant that does not let it in',
    meaning:
      'A grant to an application allows pods that run as the ServiceAccount of its name. Its pods run as another account, or have no identity.',
    remedy: 'Set the ServiceAccount in the template, or run the pods without hostNetwork.',
  },
  'http-without-waypoint': {
    level: 'warning',
    title: 'A policy of pods has HTTP fields',
    meaning:
      'A ztunnel sees connections, not requests. An ALLOW rule with HTTP fields allows nobody. A DENY rule loses these fields. Then it refuses more than it says, or nothing, where a part of it had no other field.',
    remedy: 'Refer to a Service with a waypoint (targetRefs), or leave the HTTP fields out.',
  },
  'istio-too-old': {
    level: 'warning',
    title: 'Istio is older than the lowest supported version',
    meaning:
      'Answers follow the installed version. But before 1.25 Istio takes no policies for a GatewayClass, so hardened mode denies nothing at waypoints.',
    remedy: 'Upgrade Istio.',
  },
  'label-refused': {
    level: 'error',
    title: 'A label is not applied',
    meaning:
      'Kubernetes would refuse the label, another source requests another value, or the requester has no right to it. The other labels are applied.',
    remedy: 'Correct the label at its source.',
  },
  'memory-lost': {
    level: 'error',
    title: 'An application has no memory, though objects of it stand',
    meaning:
      'The ConfigMap that is the memory of an application is gone. The objects of the application stay as they are, and no longer follow any change.',
    remedy: 'Send its config again, or its removal, which keeps the objects that consumers still need.',
  },
  'memory-unreadable': {
    level: 'error',
    title: 'A memory cannot be read',
    meaning:
      'The content of the ConfigMap that is the memory of an application was not written by meshstep. It stays as it is, and the application takes no step.',
    remedy: 'Restore it, or delete it and send the config and the relations again.',
  },
  'mesh-config-unknown': {
    level: 'warning',
    title: 'Istio’s own config is not known',
    meaning:
      'The ConfigMap with the config of the istiod that serves the namespace was not found, or may not be read. It is `istio` in istiod’s namespace, or `istio-REVISION` for the revision that the label `istio.io/rev` of the namespace or of its waypoint names, by itself or by a tag. So the root namespace and the trust domain are not known, and findings that depend on them are missing.',
    remedy:
      'Grant the right to read that ConfigMap, and the webhooks of tags (`knative/components/mesh/rbac.yaml`). If Istio was installed by revision, label the namespace with it, or give that revision the tag `default`.',
  },
  'name-missing': {
    level: 'error',
    title: 'A policy of a file has no name',
    meaning: 'Without metadata.name or metadata.generateName the API server refuses it.',
    remedy: 'Name it.',
  },
  'namespace-missing': {
    level: 'note',
    title: 'A policy of a file has no namespace',
    meaning:
      'The person who applies it chooses its namespace, and it holds in that namespace alone. In the root namespace of Istio it would hold for the whole mesh.',
    remedy: 'Name its namespace, or leave that to a tool such as a chart.',
  },
  'namespace-unknown': {
    level: 'warning',
    title: 'A policy names a namespace that does not exist',
    meaning:
      'The cluster does not have that namespace, so no client is in it. In a mesh of several clusters, another cluster may have it. Other clusters are not checked.',
    remedy: 'Correct the name. Allow the finding if another cluster of the mesh has the namespace.',
  },
  'partly-read': {
    level: 'note',
    title: 'Something may not be read here',
    meaning:
      'The asker has no right to read it. So nothing is known of anything that depends on it: it may be right or wrong.',
    remedy: 'Grant the right to list it. Without that right the other findings are only a part of all findings.',
  },
  'peer-authentication-refused': {
    level: 'error',
    title: 'Istio would refuse a PeerAuthentication',
    meaning:
      'It has a mode or a field that Istio does not know, portLevelMtls without a selector, or a wildcard in its selector. If an older Istio took it, the refused part has no effect, so pods may take plaintext that they should refuse.',
    remedy:
      'Correct it as the message says: The modes are UNSET, DISABLE, PERMISSIVE and STRICT, and ports need a selector with labels.',
  },
  'pods-unlabelled': {
    level: 'warning',
    title: 'Pods lack labels of their template',
    meaning:
      'These pods lack labels that their template has, and nothing replaces the pods. They are off the mesh, or no policy selects them.',
    remedy: 'Delete the pods, or let the rollout continue.',
  },
  'policy-ineffective': {
    level: 'warning',
    title: 'A policy has no effect',
    meaning:
      'Istio takes it, and no proxy enforces it. It is attached to nothing, or its action or dry run means nothing at its target.',
    remedy: 'Give it a target that enforces it, or remove it.',
  },
  'policy-refused': {
    level: 'error',
    title: 'Istio would refuse a policy',
    meaning:
      'Its webhook or its CustomResourceDefinition does not take it, so it cannot be applied. A policy that is older than the webhook may exist all the same, and may do something unintended. For example, a source without fields, source: {}, matches everybody at a waypoint, and nobody at pods.',
    remedy: 'Correct it as the message says.',
  },
  'policy-shadowed': {
    level: 'warning',
    title: 'An ALLOW has no effect beside one that lets in everybody',
    meaning:
      'A request passes if one of the ALLOW policies of a proxy matches. A policy without conditions matches every request, so the other policies restrict nobody. This includes a policy without rules, which should refuse every request.',
    remedy: 'Remove the policy that lets in everybody, or the other one.',
  },
  'policy-unenforced': {
    level: 'warning',
    title: 'Nothing enforces a policy',
    meaning:
      'It refers to a Service that leads to no working waypoint, or Istio reports in its status that it does not take the policy.',
    remedy: 'Give the Service a waypoint, or wait for it to be ready.',
  },
  'policy-unmatched': {
    level: 'warning',
    title: 'No request can match a policy',
    meaning: 'Its target does not exist, or it selects no pods, not even those that a workload would create.',
    remedy: 'Correct the target.',
  },
  'policy-unreadable': {
    level: 'error',
    title: 'A policy cannot be read',
    meaning: 'It has unknown fields or values, so no request that it may match is decided.',
    remedy: 'Correct it as the message says.',
  },
  'port-unknown': {
    level: 'warning',
    title: 'A policy names a port that its Service does not have',
    meaning:
      'A waypoint compares the port of the Service, not that of the pods. No request arrives at a port that the Service lacks.',
    remedy: 'Name the port of the Service.',
  },
  'principal-malformed': {
    level: 'warning',
    title: 'A principal does not have the form of one',
    meaning:
      'Clients of the mesh have principals like cluster.local/ns/NAMESPACE/sa/ACCOUNT. Istio takes any text, and compares the whole text, so another form matches nobody. Policies at a Gateway are not checked, because its clients may have certificates of other issuers.',
    remedy: 'Write it in this form, or with a wildcard: */ns/NAMESPACE/sa/ACCOUNT, cluster.local/ns/NAMESPACE/*.',
  },
  'principal-spiffe': {
    level: 'error',
    title: 'A principal begins with spiffe://',
    meaning: 'Istio compares principals without that prefix, so none matches.',
    remedy: 'Leave spiffe:// out: cluster.local/ns/NAMESPACE/sa/ACCOUNT.',
  },
  'proxy-unknown': {
    level: 'note',
    title: 'It is not known which proxies enforce a policy',
    meaning:
      'Its selector picks none of the pods that were read: of a file, those of the workloads in the files. Pods of a gateway, and pods with a sidecar, have an Envoy, which sees HTTP and asks others. For other pods a ztunnel enforces the policy, and the message says how that differs.',
    remedy:
      'Lint the file together with the workload that it selects, or ask a cluster where that runs. If a ztunnel is meant, let the policy refer to a Service with targetRefs.',
  },
  'selects-all': {
    level: 'warning',
    title: 'A selector selects all pods',
    meaning: 'A selector without labels selects all pods of the namespace, which is seldom intended.',
    remedy: 'Name labels, or leave the selector out if all pods are intended.',
  },
  'target-outside-namespace': {
    level: 'error',
    title: 'A policy refers to a target outside of its namespace',
    meaning:
      'A policy reaches only targets of its own namespace. A policy for a GatewayClass must be in the root namespace of Istio.',
    remedy: 'Put the policy into the namespace of its target.',
  },
  'trust-domain-unknown': {
    level: 'warning',
    title: 'A policy names a trust domain that nobody has',
    meaning:
      'It is neither the trust domain of the mesh nor an alias of it. At pods even an alias does not match, and cluster.local does not stand for the trust domain of the mesh: a ztunnel compares the text itself.',
    remedy: 'Name the trust domain of the mesh, or leave it open with *.',
  },
  'trust-domain-unseen': {
    level: 'warning',
    title: 'A policy of pods has trust domain fields',
    meaning:
      'A ztunnel does not look at trustDomains and notTrustDomains. It ignores them beside other fields. Alone they match nothing.',
    remedy: 'Write the trust domain into principals.',
  },
  'value-unmatched': {
    level: 'warning',
    title: 'A value matches no request',
    meaning:
      'Istio takes the value, and compares it as it is written. Methods are in upper case. Paths begin with / and are compared without their query. Hosts have no scheme and no path.',
    remedy: 'Write GET, /admin and shop.example, not get, admin and https://shop.example/.',
  },
  waiting: {
    level: 'warning',
    title: 'Something waits for another application or person',
    meaning:
      'It is held back, or kept as it is, until somebody else acts. The message names what it waits for, since when, and what ends the wait.',
    remedy: 'Mostly none: the wait ends by itself.',
  },
  'waiting-long': {
    level: 'error',
    title: 'Something waits for longer than a resync',
    meaning:
      'A resync looks at everything again each quarter of an hour, and may take as long. After half an hour, the wait is for somebody who has not acted.',
    remedy: 'Do the action that ends the wait, as the message says.',
  },
  'waypoint-missing': {
    level: 'warning',
    title: 'A label names a waypoint that does not exist',
    meaning: 'Without the waypoint requests go straight to the pods, and nothing enforces the policies of the Service.',
    remedy:
      'Correct the label, or create the waypoint. If the waypoint is in another namespace, correct istio.io/use-waypoint-namespace beside the label.',
  },
  'waypoint-refused': {
    level: 'error',
    title: 'Pods do not let in the waypoint of their Service',
    meaning:
      'A request through a Service comes to the pods from its waypoint, with the identity of the waypoint, so a ztunnel never sees the client. The policies of the pods, of their namespace or of the root namespace leave the waypoint out. So the ztunnel refuses each request, and the waypoint answers 503. Istio allows a waypoint by itself only where istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY, and no object shows that setting.',
    remedy:
      'Name the clients of the Service in a policy that refers to the Service (targetRefs). At the pods, allow the ServiceAccount of the waypoint. Allow the finding if istiod has that setting.',
  },
  'waypoint-unused': {
    level: 'note',
    title: 'Nothing leads to a waypoint',
    meaning:
      'No label of a Service, of a ServiceEntry, of a pod or its template, or of a namespace names the waypoint. Its pods run for nothing, and its policies are enforced on nobody.',
    remedy: 'Lead a Service, pods or a namespace to it, or delete it.',
  },
  'wildcard-literal': {
    level: 'warning',
    title: 'A * within a value is no wildcard',
    meaning:
      'Istio takes a * as a wildcard only at the start or the end of a value, or as the whole value. Any other * stands for the character itself, so the value matches almost nothing. Namespaces at a waypoint are the exception.',
    remedy: 'Leave one * at the start or the end. In paths {*} is one segment, and {**} is any number of segments.',
  },
  'workload-twice': {
    level: 'warning',
    title: 'A StatefulSet and a Deployment have the same name',
    meaning: 'An application labels only the StatefulSet.',
    remedy: 'Delete or rename the one that is not intended.',
  },
}
