"""What the arguments of the warehouse mean; null: as the key says."""

from envs.contract.about import REWARD, SEED, STEPS, About

ARGUMENTS = {
    "key": "the package's id, such as rware-tiny-2ag-v2",
    **STEPS,
    **REWARD,
    "n_agents": "robots; null, here and below: as the key says",
    "shelf_rows": "rows of groups of shelves",
    "shelf_columns": "columns of groups, of two shelves each; an odd number",
    "column_height": "shelves in a column of a group",
    "layout": "a drawing in place of these three: lines of x (a shelf), . (a way) and g (a goal)",
    "request_queue_size": "shelves that are requested at once",
    "sensor_range": "cells that an agent sees to each side",
    "reward_type": "individual (who delivers), global (all of them), two_stage (half of it on bringing the shelf back)",
    "msg_bits": "bits that an agent sends at each step; its actions are the usual five for each message",
    "normalised_coordinates": "agents see their places as numbers from 0 to 1",
    "max_inactivity_steps": "so many steps without a delivery end the episode; null: never",
    "max_steps": "the package's limit; the smaller of this and time_limit counts",
    **SEED,
}
ABOUT = About(ARGUMENTS, saved="yes", drawn="yes")
