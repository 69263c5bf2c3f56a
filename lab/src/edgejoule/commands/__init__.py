"""Any program as the workload of a study: its settings in the experiment, and one run of it."""
