/* The scripts of test_dots_bytes.py in C: two observations, masks of two branches, both kinds of actions, ends. */

#define _GNU_SOURCE
#define DOTS_SIMULATOR_IMPLEMENTATION
#include "../../simulators/c/dots_simulator.h"

static const uint8_t MASKS[2][5] = {{0, 1, 0, 0, 1}, {1, 0, 0, 1, 0}};

static void decide(dots_behaviour *b, int id, const float *first, const float *second, float reward, const uint8_t *mask) {
    if (!dots_decide(b, id, (const float *[]){first, second}, reward, mask)) exit(3);
}

static void end(dots_behaviour *b, int id, const float *first, const float *second, float reward, int interrupted) {
    if (!dots_end(b, id, (const float *[]){first, second}, reward, interrupted)) exit(3);
}

static void hybrid(dots_simulator *simulator) {
    dots_spec spec = {.name = "Pair", .agents = 3, .observations = 2, .shapes = {{2}, {3, 1}}, .continuous = 1,
                      .branches = 2, .choices = {2, 3}};
    dots_behaviour *pairs = dots_register(simulator, &spec);
    if (dots_exchange(simulator) != DOTS_RESET) exit(2);
    decide(pairs, 7, (float[]){1, 2}, (float[]){0, 1, 2}, 0.5f, MASKS[0]);
    decide(pairs, 9, (float[]){3, 4}, (float[]){3, 4, 5}, -1, MASKS[1]);
    if (dots_exchange(simulator) != DOTS_STEP) exit(2);
    if (dots_continuous(pairs, 1)[0] != -0.5f || dots_discrete(pairs, 0)[1] != 2) exit(4);
    end(pairs, 7, (float[]){11, 12}, (float[]){10, 11, 12}, 2, 1);
    decide(pairs, 9, (float[]){3, 4}, (float[]){3, 4, 5}, 0.25f, NULL);
    dots_exchange(simulator);
}

static void branches(dots_simulator *simulator) {
    dots_spec spec = {.name = "Walk", .agents = 2, .observations = 2, .shapes = {{2}, {1}}, .branches = 2, .choices = {2, 3}};
    dots_behaviour *walkers = dots_register(simulator, &spec);
    for (int turn; (turn = dots_exchange(simulator)) != DOTS_CLOSED;) {
        if (turn == DOTS_RESET) {
            decide(walkers, 1, (float[]){1, 2}, (float[]){5}, 0, MASKS[0]);
            decide(walkers, 2, (float[]){3, 4}, (float[]){6}, 1, MASKS[1]);
        } else if (dots_discrete(walkers, 0)[0] == 1 && dots_discrete(walkers, 0)[1] == 2) {
            end(walkers, 1, (float[]){8, 8}, (float[]){9}, 2, 0);
            end(walkers, 2, (float[]){8, 8}, (float[]){9}, 3, 1);
            decide(walkers, 2, (float[]){7, 7}, (float[]){7}, 0, NULL);
        } else {
            end(walkers, 1, (float[]){6, 6}, (float[]){6}, 1, 0);
            decide(walkers, 2, (float[]){5, 5}, (float[]){5}, 0.5f, MASKS[0]);
        }
    }
}

int main(int argc, char **argv) {
    dots_simulator *simulator = dots_open(argc, argv);
    if (!simulator) return 1;
    strcmp(argv[1], "hybrid") ? branches(simulator) : hybrid(simulator);
    int failed = dots_error(simulator)[0] != 0;
    dots_close(simulator);
    return failed;
}
