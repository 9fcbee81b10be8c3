"""What every layer and model here stands on."""
