"""Output contracts: what an answer must look like, whether it does, and asking again."""
