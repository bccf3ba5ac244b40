"""Teaching a reply model to be a good listener: adapters, trained in three stages."""
