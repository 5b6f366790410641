// Arithmetic: a row per pipe and instruction set.
#pragma once

#include <map>
#include <string>

#include "ceilings/cpu/measure_session.h"

namespace dlroof {

// Adds the steps of a pass, counted from 0. They run on session.bench.
void AddFlopsSteps(MeasureSession& session, int threads, int pass);
// Turns the rows into ceilings.
void FinishFlops(MeasureSession& session);

// Adds "fp32.vector" as the row of "fp32.vector.<...>" that ChooseRoof takes, for every pipe with
// finer rows. `how` names it. Pure.
void AddPlainPipes(std::map<std::string, Ceiling>& flops);

}  // namespace dlroof
