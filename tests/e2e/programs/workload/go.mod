module kubeglance.test/programs/workload

go 1.24
