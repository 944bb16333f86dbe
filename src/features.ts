import { expectations } from './ask/authorization/feature.ts'
import { combine } from './core/feature/combine.ts'
import type { Feature } from './core/feature/feature.ts'
import { workload } from './core/workload/feature.ts'
import { coordinatedWorkers } from './features/coordinated-workers/feature.ts'
import { serviceMesh } from './features/service-mesh/feature.ts'
import { services } from './features/services/feature.ts'
import { istio } from './mesh/istio/mesh.ts'

/** All features, in the order of their precedence. */
export const FEATURES: readonly Feature[] = [serviceMesh, coordinatedWorkers, services, workload, expectations]

export const features = combine(FEATURES, istio)
