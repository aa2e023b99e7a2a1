"""Numbered changes of the cloud database, applied by `cloud_learner.store` when it opens."""
