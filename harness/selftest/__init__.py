"""What is proven before anybody believes a run: the suite by its controls, the measures by planted faults."""
