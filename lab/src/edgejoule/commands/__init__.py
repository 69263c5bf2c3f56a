"""Any program as the workload of a study: what an experiment says of it, and how one run of it is made."""
