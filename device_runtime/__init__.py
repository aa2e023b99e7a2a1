"""The agent on or beside a phone: drivers, policy, episode machine, trajectory log, installer."""
