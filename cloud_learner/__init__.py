"""The service and the learner: ingest, store, replay, training, judging and publishing."""
