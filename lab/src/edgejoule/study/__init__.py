"""The plan, run by run: what each run does, measures and stores."""
