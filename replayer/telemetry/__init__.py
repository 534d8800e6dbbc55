"""What servers and GPUs say of themselves, sampled."""
