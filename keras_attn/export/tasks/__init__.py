"""What each kind of model can be asked, as signatures."""
