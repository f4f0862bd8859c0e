-- Generations order what the clock cannot: after a crash it may stand where it stood some seconds before.

-- Under which generation of control this was settled; 0: from before that was written down, or not settled but closed.
ALTER TABLE releases ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- The generation that the user's pause made; NULL while not paused.
ALTER TABLE settlement_control ADD COLUMN paused_since INTEGER;

UPDATE settlement_control SET paused_since = generation + 1, generation = generation + 1 WHERE user_paused = 1;

CREATE TRIGGER settlement_control_paused_since BEFORE UPDATE ON settlement_control
WHEN (NEW.user_paused = 1) <> (NEW.paused_since IS NOT NULL) OR NEW.paused_since > NEW.generation
BEGIN SELECT raise(ABORT, 'a pause knows the generation that it made'); END;

CREATE TRIGGER releases_settle_under_the_current_generation BEFORE INSERT ON releases
WHEN NEW.way = 'settled' AND NEW.generation <> coalesce((SELECT generation FROM settlement_control), 1)
BEGIN SELECT raise(ABORT, 'nothing settles under an older generation'); END;
