"""Network families: the torch half of what `sync.policy_io` encodes and `sync.decoding` decodes."""
