import * as kubeconfig from '../../../src/platform/kubernetes/kubeconfig.ts'
import { describeKubeconfigs } from './kubeconfig-cases.ts'

describeKubeconfigs(kubeconfig)
