import { expectations } from './authorization/feature.ts'
import { coordinatedWorkers } from './coordinated-workers/feature.ts'
import { combine } from './feature/combine.ts'
import type { Feature } from './feature/feature.ts'
import { istio } from './istio/mesh.ts'
import { serviceMesh } from './service-mesh/feature.ts'
import { services } from './services/feature.ts'
import { workload } from './workload/feature.ts'

/** Every feature there is, in the order in which they count. */
export const FEATURES: readonly Feature[] = [serviceMesh, coordinatedWorkers, services, workload, expectations]

export const features = combine(FEATURES, istio)
