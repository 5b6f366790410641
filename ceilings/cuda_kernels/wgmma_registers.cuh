// The 128 accumulators of a thread in wgmma m64n256, as operand lists for inline assembly.
#pragma once

// clang-format off
#define DLROOF_WGMMA_SUMS \
  "%0, %1, %2, %3, %4, %5, %6, %7, " \
  "%8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63, " \
  "%64, %65, %66, %67, %68, %69, %70, %71, " \
  "%72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, " \
  "%88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, " \
  "%104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, " \
  "%120, %121, %122, %123, %124, %125, %126, %127"

#define DLROOF_WGMMA_OUTPUTS(constraint) \
  constraint(sums[0]), constraint(sums[1]), constraint(sums[2]), constraint(sums[3]), \
  constraint(sums[4]), constraint(sums[5]), constraint(sums[6]), constraint(sums[7]), \
  constraint(sums[8]), constraint(sums[9]), constraint(sums[10]), constraint(sums[11]), \
  constraint(sums[12]), constraint(sums[13]), constraint(sums[14]), constraint(sums[15]), \
  constraint(sums[16]), constraint(sums[17]), constraint(sums[18]), constraint(sums[19]), \
  constraint(sums[20]), constraint(sums[21]), constraint(sums[22]), constraint(sums[23]), \
  constraint(sums[24]), constraint(sums[25]), constraint(sums[26]), constraint(sums[27]), \
  constraint(sums[28]), constraint(sums[29]), constraint(sums[30]), constraint(sums[31]), \
  constraint(sums[32]), constraint(sums[33]), constraint(sums[34]), constraint(sums[35]), \
  constraint(sums[36]), constraint(sums[37]), constraint(sums[38]), constraint(sums[39]), \
  constraint(sums[40]), constraint(sums[41]), constraint(sums[42]), constraint(sums[43]), \
  constraint(sums[44]), constraint(sums[45]), constraint(sums[46]), constraint(sums[47]), \
  constraint(sums[48]), constraint(sums[49]), constraint(sums[50]), constraint(sums[51]), \
  constraint(sums[52]), constraint(sums[53]), constraint(sums[54]), constraint(sums[55]), \
  constraint(sums[56]), constraint(sums[57]), constraint(sums[58]), constraint(sums[59]), \
  constraint(sums[60]), constraint(sums[61]), constraint(sums[62]), constraint(sums[63]), \
  constraint(sums[64]), constraint(sums[65]), constraint(sums[66]), constraint(sums[67]), \
  constraint(sums[68]), constraint(sums[69]), constraint(sums[70]), constraint(sums[71]), \
  constraint(sums[72]), constraint(sums[73]), constraint(sums[74]), constraint(sums[75]), \
  constraint(sums[76]), constraint(sums[77]), constraint(sums[78]), constraint(sums[79]), \
  constraint(sums[80]), constraint(sums[81]), constraint(sums[82]), constraint(sums[83]), \
  constraint(sums[84]), constraint(sums[85]), constraint(sums[86]), constraint(sums[87]), \
  constraint(sums[88]), constraint(sums[89]), constraint(sums[90]), constraint(sums[91]), \
  constraint(sums[92]), constraint(sums[93]), constraint(sums[94]), constraint(sums[95]), \
  constraint(sums[96]), constraint(sums[97]), constraint(sums[98]), constraint(sums[99]), \
  constraint(sums[100]), constraint(sums[101]), constraint(sums[102]), constraint(sums[103]), \
  constraint(sums[104]), constraint(sums[105]), constraint(sums[106]), constraint(sums[107]), \
  constraint(sums[108]), constraint(sums[109]), constraint(sums[110]), constraint(sums[111]), \
  constraint(sums[112]), constraint(sums[113]), constraint(sums[114]), constraint(sums[115]), \
  constraint(sums[116]), constraint(sums[117]), constraint(sums[118]), constraint(sums[119]), \
  constraint(sums[120]), constraint(sums[121]), constraint(sums[122]), constraint(sums[123]), \
  constraint(sums[124]), constraint(sums[125]), constraint(sums[126]), constraint(sums[127])
// clang-format on
