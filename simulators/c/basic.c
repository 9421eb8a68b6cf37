/* Basic in C: the game of simulators/basic.py, which describes it.

       cc -O2 -o basic simulators/c/basic.c
       ./muster --config=ppo --env-config=dots with env_args.executable=./basic */

#define _GNU_SOURCE /* for what the header uses of POSIX */
#define DOTS_SIMULATOR_IMPLEMENTATION
#include "dots_simulator.h"

enum { AGENTS = 8, PLACES = 20, START = 10, LOW_GOAL = 7, HIGH_GOAL = 17, LIMIT = 100 };

static struct {
    int32_t place[AGENTS], steps[AGENTS];
} game;

static void start(int agent) {
    game.place[agent] = START;
    game.steps[agent] = 0;
}

static void see(int agent, float seen[PLACES]) {
    for (int i = 0; i < PLACES; i++) seen[i] = i == game.place[agent];
}

int main(int argc, char **argv) {
    dots_simulator *simulator = dots_open(argc, argv);
    if (!simulator) return 1;
    dots_spec spec = {.name = "Basic", .agents = AGENTS, .observations = 1, .shapes = {{PLACES}}, .branches = 1, .choices = {3}};
    dots_behaviour *walkers = dots_register(simulator, &spec);
    dots_offer_state(simulator, &game, sizeof game);
    for (int turn; (turn = dots_exchange(simulator)) != DOTS_CLOSED;) {
        for (int agent = 0; agent < AGENTS; agent++) {
            float seen[PLACES], reward = 0;
            if (turn == DOTS_RESET) {
                start(agent);
            } else {
                static const int MOVES[] = {0, -1, 1};
                int place = game.place[agent] + MOVES[dots_discrete(walkers, agent)[0]];
                game.place[agent] = place < 0 ? 0 : place >= PLACES ? PLACES - 1 : place;
                game.steps[agent]++;
                int arrived = game.place[agent] == LOW_GOAL || game.place[agent] == HIGH_GOAL;
                reward = (float)((game.place[agent] == LOW_GOAL ? 0.1 : game.place[agent] == HIGH_GOAL ? 1.0 : 0.0) - 0.01);
                if (arrived || game.steps[agent] >= LIMIT) {
                    see(agent, seen);
                    dots_end(walkers, agent, (const float *[]){seen}, reward, !arrived);
                    start(agent);
                    reward = 0;
                }
            }
            see(agent, seen);
            dots_decide(walkers, agent, (const float *[]){seen}, reward, NULL);
        }
    }
    const char *error = dots_error(simulator);
    int failed = error[0] != 0;
    if (failed) fprintf(stderr, "%s\n", error);
    dots_close(simulator);
    return failed;
}
