/* The simulator of dots_free.py in C. */

#define _GNU_SOURCE /* for what the header uses of POSIX */
#define DOTS_SIMULATOR_IMPLEMENTATION
#include "../simulators/c/dots_simulator.h"

enum { FLOATS = 64, ACTIONS = 2 };

int main(int argc, char **argv) {
    int agents = 1;
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "--agents")) agents = atoi(argv[i + 1]);
    if (agents < 1 || agents > 1000000) return 1;
    dots_simulator *simulator = dots_open(argc, argv);
    float *acted = malloc((size_t)agents * ACTIONS * sizeof *acted), seen[FLOATS];
    if (!simulator || !acted) return 1;
    for (int i = 0; i < FLOATS; i++) seen[i] = 1;
    dots_spec spec = {.name = "Free", .agents = agents, .observations = 1, .shapes = {{FLOATS}}, .continuous = ACTIONS};
    dots_behaviour *behaviour = dots_register(simulator, &spec);
    for (int turn, asked = 0; (turn = dots_exchange(simulator)) != DOTS_CLOSED; asked = agents)
        for (int agent = 0; agent < agents; agent++) {
            /* the copy is part of what a simulator does */
            if (agent < asked) memcpy(acted + agent * ACTIONS, dots_continuous(behaviour, agent), ACTIONS * sizeof *acted);
            dots_decide(behaviour, agent, (const float *[]){seen}, 1, NULL);
        }
    dots_close(simulator);
    free(acted);
    return 0;
}
