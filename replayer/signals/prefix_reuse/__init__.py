"""How much of each prompt the engine could have reused, how much it did, and why the rest was computed again."""
