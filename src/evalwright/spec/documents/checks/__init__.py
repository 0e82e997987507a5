"""What must hold in a document beyond its shape, and how a mistake is explained."""
