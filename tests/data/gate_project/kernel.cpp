// Chains of dependent multiplications: their time is their number of steps.
static double Chain(double x, int steps) {
  for (int i = 0; i < steps; ++i) x = x * 0.999999 + 1e-9;
  return x;
}

extern const int kParseSteps = 20000, kRenderSteps = 10000;
double Parse(double x) { return Chain(x, kParseSteps); }
double Render(double x) { return Chain(x, kRenderSteps); }
