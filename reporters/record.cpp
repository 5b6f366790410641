#include "reporters/record.h"
