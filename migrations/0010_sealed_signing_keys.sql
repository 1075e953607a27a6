-- Signing keys are sealed: the schedule seals those that were not, and this says which they are.
UPDATE signing_keys SET secret = 'raw:' || secret;
