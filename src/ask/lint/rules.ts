import type { RuleId } from './rule-ids.ts'

/** A kind of finding: how bad it is, what it means, and what to do. */
export type Rule = {
  /** As SARIF has it: surely not as it was meant, probably not, and good to know. */
  readonly level: 'error' | 'warning' | 'note'
  readonly title: string
  readonly meaning: string
  readonly remedy: string
}

/** All that lint may find, by id: the rules of SARIF and the page of docs follow from this table. */
export const RULES: Readonly<Record<RuleId, Rule>> = {
  'account-unknown': {
    level: 'warning',
    title: 'A policy names an account that nobody has',
    meaning:
      'The namespace has no ServiceAccount of that name, and no pod, workload or Gateway there runs as it: no client matches it. One that exists is known, also where nothing runs as it just now, as of a CronJob. Those of another trust domain are not looked for.',
    remedy: 'Correct the name, or make that ServiceAccount and run the client as it.',
  },
  'allow-hidden': {
    level: 'warning',
    title: 'A rule of an ALLOW lets in nobody any more',
    meaning: 'DENY policies of the same proxies refuse each request that the rule matches. A DENY always wins.',
    remedy: 'Take away the one that is not meant, or narrow it.',
  },
  'allow-on-tcp': {
    level: 'warning',
    title: 'An ALLOW of HTTP lets in nobody on a port that carries TCP',
    meaning:
      'On a port that is not HTTP a waypoint sees no methods, paths, hosts or tokens. A rule of an ALLOW that has any of them never matches there.',
    remedy:
      'Leave the HTTP fields out in a rule of its own for that port, or correct the protocol of the port in the Service.',
  },
  'allow-unknown': {
    level: 'warning',
    title: 'An id is allowed that no finding has',
    meaning: 'An annotation or a comment allows it, and so allows nothing.',
    remedy: 'Correct the id, or take it away.',
  },
  'audit-unseen': {
    level: 'note',
    title: 'What dry runs would refuse is not seen here',
    meaning:
      'Policies are dry runs. Waypoints and Gateways count and log what these would refuse, and nothing reads that here, as no metrics server is named. A ztunnel is told of none.',
    remedy:
      'Look for istio_requests_total and rbac shadow results where the metrics of the proxies are kept, and at the log of the waypoint, before enforcement is switched on. Explain says what each dry run would do.',
  },
  'deny-idle': {
    level: 'note',
    title: 'A DENY refuses nothing that is let in',
    meaning:
      'No ALLOW policy of the same proxies lets in what it names, and so it is refused without the DENY as well.',
    remedy: 'Correct it, if it was to refuse something. As a guard against policies to come it may stay.',
  },
  'deny-on-tcp': {
    level: 'warning',
    title: 'A DENY of HTTP refuses more on ports that carry TCP',
    meaning:
      'On a port that is not HTTP a waypoint sees no methods, paths, hosts or tokens. A DENY loses them, and refuses what is left of its rule, which may be everything. The ports of a Service count as their names or appProtocol say; one that says neither may carry both.',
    remedy: 'Name the ports that are HTTP in the rule, or the protocol of the port in the Service.',
  },
  'document-refused': {
    level: 'error',
    title: 'A document was refused',
    meaning:
      'A document in a ConfigMap cannot be read, or says more than its author may. What was in effect before stays.',
    remedy: 'Correct the document as the message says, and apply it again.',
  },
  'endpoint-unknown': {
    level: 'warning',
    title: 'A config names an endpoint that no relation has',
    meaning: 'What the config says of that endpoint has no effect: its policies let in nobody.',
    remedy: 'Correct the name, or relate somebody over it.',
  },
  expectation: {
    level: 'error',
    title: 'An expectation is not met',
    meaning: 'A request that a config expects to pass, or not to, does otherwise, or nobody can be sure of it.',
    remedy: 'Change the policies, or the expectation.',
  },
  'grant-without-effect': {
    level: 'warning',
    title: 'A workload is granted something, and is not let in',
    meaning:
      'What is granted to an application lets in pods of the ServiceAccount of its name. These run as another one, or have no identity.',
    remedy: 'Set the ServiceAccount in the template, or run the pods without hostNetwork.',
  },
  'http-without-waypoint': {
    level: 'warning',
    title: 'A policy of pods has HTTP fields',
    meaning:
      'A ztunnel sees connections, not requests. An ALLOW rule with HTTP fields lets in nobody; a DENY rule loses them, and refuses nothing where nothing else is left of a part of it, or more than it says.',
    remedy: 'Refer to a Service with a waypoint (targetRefs), or leave the HTTP fields out.',
  },
  'istio-too-old': {
    level: 'warning',
    title: 'Istio is older than is supported',
    meaning:
      'Answers follow the version that is there, but before 1.25 hardened mode denies nothing at waypoints, as Istio takes no policies for a GatewayClass.',
    remedy: 'Upgrade Istio.',
  },
  'label-refused': {
    level: 'error',
    title: 'A label is not applied',
    meaning:
      'Kubernetes would refuse the label, another source has asked for another value, or whoever asks for it may not. The other labels are applied.',
    remedy: 'Correct the label where it is said.',
  },
  'memory-lost': {
    level: 'error',
    title: 'An application has no memory, though objects of it stand',
    meaning:
      'The ConfigMap in which an application is remembered is gone. What the application made stays as it is, and follows nothing any more.',
    remedy: 'Tell its config again, or its removal, which keeps what consumers still need.',
  },
  'memory-unreadable': {
    level: 'error',
    title: 'A memory cannot be read',
    meaning:
      'The ConfigMap in which an application is remembered is not what meshstep wrote. It is left as it is, and no step is taken.',
    remedy: 'Restore it, or delete it and tell its config and relations again.',
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
      'It is made in the namespace that whoever applies it has chosen, and holds there alone: in the root namespace of Istio it would hold for the whole mesh.',
    remedy: 'Name its namespace, or leave it to a tool that does so, such as a chart.',
  },
  'namespace-unknown': {
    level: 'warning',
    title: 'A policy names a namespace that does not exist',
    meaning:
      'No client is in a namespace that the cluster does not have. In a mesh of several clusters it may be in another one, which is not looked at.',
    remedy: 'Correct the name, or allow the finding where the namespace is in another cluster of the mesh.',
  },
  'partly-read': {
    level: 'note',
    title: 'Something may not be read here',
    meaning:
      'What asks has no right to read it. Nothing is said of what depends on it: that is neither right nor wrong.',
    remedy: 'Give the right to list it, or take the other findings as a part of what there is.',
  },
  'peer-authentication-refused': {
    level: 'error',
    title: 'Istio would refuse a PeerAuthentication',
    meaning:
      'It has a mode or a field that Istio does not know, portLevelMtls without a selector, or a wildcard in its selector. Where an older Istio took it, what is refused has no effect: pods may take plaintext that were not to.',
    remedy:
      'Correct it as the message says: UNSET, DISABLE, PERMISSIVE and STRICT are the modes, and ports need a selector with labels.',
  },
  'pods-unlabelled': {
    level: 'warning',
    title: 'Pods do not wear the labels of their template',
    meaning:
      'Nothing replaces these pods, and they lack labels that their template has: they are off the mesh, or no policy selects them.',
    remedy: 'Delete the pods, or end what holds the rollout back.',
  },
  'policy-ineffective': {
    level: 'warning',
    title: 'A policy has no effect',
    meaning:
      'Istio takes it, and no proxy enforces it: its action or its being a dry run means nothing where it is attached, or it is attached to nothing.',
    remedy: 'Give it a target where it is enforced, or take it away.',
  },
  'policy-refused': {
    level: 'error',
    title: 'Istio would refuse a policy',
    meaning:
      'Its webhook or its CustomResourceDefinition does not take it, so that applying it fails. One that is there all the same, from before the webhook was, may do what nobody means: a source without fields, source: {}, matches everybody at a waypoint, and nobody at pods.',
    remedy: 'Correct it as the message says.',
  },
  'policy-shadowed': {
    level: 'warning',
    title: 'An ALLOW has no effect beside one that lets in everybody',
    meaning:
      'Of all ALLOW policies of a proxy one must match. One without conditions matches everything, and so the others restrict nobody, nor does one without rules, which is to refuse all.',
    remedy: 'Take away the one that lets in everybody, or the other one.',
  },
  'policy-unenforced': {
    level: 'warning',
    title: 'Nothing enforces a policy',
    meaning:
      'It refers to a Service that is led to no waypoint that takes traffic, or Istio says in its status that it does not take it.',
    remedy: 'Give the Service a waypoint, or wait for it to be ready.',
  },
  'policy-unmatched': {
    level: 'warning',
    title: 'No request can match a policy',
    meaning: 'Its target does not exist, or it selects no pods, nor those that a workload would make.',
    remedy: 'Correct the target.',
  },
  'policy-unreadable': {
    level: 'error',
    title: 'A policy cannot be read',
    meaning: 'It has fields or values that are not known, so that nothing it may hold for is decided.',
    remedy: 'Correct it as the message says.',
  },
  'port-unknown': {
    level: 'warning',
    title: 'A policy names a port that its Service does not have',
    meaning:
      'A waypoint compares the port of the Service, not that of the pods. No request comes to one that the Service lacks.',
    remedy: 'Name the port of the Service.',
  },
  'principal-malformed': {
    level: 'warning',
    title: 'A principal does not have the form of one',
    meaning:
      'Clients of the mesh have principals like cluster.local/ns/NAMESPACE/sa/ACCOUNT. Istio takes any text, and compares the whole: another form matches nobody. At a Gateway nothing is said, as its clients may have certificates of others.',
    remedy: 'Write it so, or with a wildcard: */ns/NAMESPACE/sa/ACCOUNT, cluster.local/ns/NAMESPACE/*.',
  },
  'principal-spiffe': {
    level: 'error',
    title: 'A principal begins with spiffe://',
    meaning: 'Istio compares principals without that: none matches.',
    remedy: 'Leave spiffe:// out: cluster.local/ns/NAMESPACE/sa/ACCOUNT.',
  },
  'selects-all': {
    level: 'warning',
    title: 'A selector selects all pods',
    meaning: 'A selector without labels selects all pods of the namespace, which is seldom meant.',
    remedy: 'Name labels, or leave the selector out to say so.',
  },
  'target-outside-namespace': {
    level: 'error',
    title: 'A policy refers to a target outside of its namespace',
    meaning:
      'A policy reaches targets of its own namespace alone; for a GatewayClass it must be in the root namespace of Istio.',
    remedy: 'Put the policy where its target is.',
  },
  'trust-domain-unknown': {
    level: 'warning',
    title: 'A policy names a trust domain that nobody has',
    meaning:
      'It is neither that of the mesh nor an alias of it. At pods aliases do not count either, nor does cluster.local stand for the own one: a ztunnel compares what is written.',
    remedy: 'Name the trust domain of the mesh, or leave it open with *.',
  },
  'trust-domain-unseen': {
    level: 'warning',
    title: 'A policy of pods goes by trust domains',
    meaning:
      'A ztunnel does not look at trustDomains and notTrustDomains: beside other fields they are ignored, and alone they match nothing.',
    remedy: 'Write the trust domain into principals.',
  },
  'value-unmatched': {
    level: 'warning',
    title: 'A value matches no request',
    meaning:
      'Istio takes it, and compares it as it is written: methods are in upper case, paths begin with / and are compared without their query, and hosts have no scheme and no path.',
    remedy: 'Write GET, /admin and shop.example, not get, admin and https://shop.example/.',
  },
  waiting: {
    level: 'warning',
    title: 'Something waits for others',
    meaning:
      'It is held back, or kept as it is, until somebody else acts: whom it waits for, since when, and what ends it is in the message.',
    remedy: 'Mostly none: what it waits for comes.',
  },
  'waiting-long': {
    level: 'error',
    title: 'Something waits for longer than a resync',
    meaning:
      'A resync looks at everything again each quarter of an hour, and may take as long. What waits for more than half an hour waits for somebody who has not acted.',
    remedy: 'Do what the message says ends it.',
  },
  'waypoint-missing': {
    level: 'warning',
    title: 'A label names a waypoint that does not exist',
    meaning:
      'Requests go straight to the pods as long as there is none, and nothing enforces the policies of the Service.',
    remedy:
      'Correct the label, or istio.io/use-waypoint-namespace beside it where the waypoint is in another namespace, or make the waypoint.',
  },
  'waypoint-refused': {
    level: 'error',
    title: 'Pods do not let in the waypoint of their Service',
    meaning:
      'A request through a Service comes to the pods from its waypoint, with the identity of that: a ztunnel never sees the client. Policies of the pods, or of their namespace or the root namespace, that leave the waypoint out refuse each of them, and the waypoint answers 503. Istio lets a waypoint in by itself only where istiod runs with PILOT_AUTO_ALLOW_WAYPOINT_POLICY, which no object tells.',
    remedy:
      'Say who may reach the Service in a policy that refers to it (targetRefs), and let in the ServiceAccount of the waypoint at the pods. Allow the finding where istiod has that setting.',
  },
  'waypoint-unused': {
    level: 'note',
    title: 'Nothing leads to a waypoint',
    meaning:
      'No label of a Service, of a ServiceEntry, of a pod or its template, or of a namespace names it: its pods run for nothing, and its policies are enforced on nobody.',
    remedy: 'Lead something to it, or delete it.',
  },
  'wildcard-literal': {
    level: 'warning',
    title: 'A wildcard within a value is none',
    meaning:
      'Istio has one * at the start or the end of a value, or as the whole of it. Any other stands for the character itself, so that the value matches next to nothing. Namespaces at a waypoint are the exception.',
    remedy: 'Leave one * at the start or the end. In paths {*} is one segment, and {**} any number of them.',
  },
  'workload-twice': {
    level: 'warning',
    title: 'A StatefulSet and a Deployment have one name',
    meaning: 'An application labels the first of them alone.',
    remedy: 'Delete or rename the one that is not meant.',
  },
}
