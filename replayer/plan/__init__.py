"""What a run is to do: the model of a plan, its files and its lanes."""
