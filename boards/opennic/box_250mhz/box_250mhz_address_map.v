// The shell reads this for the box' address map, which is that of the card: there is nothing here.
