/* SPDX-License-Identifier: MIT */
/* The registry: one line per policy, in the order users see them. */
POLICY(cohort)
POLICY(srpt)
POLICY(pool_per_stage)
POLICY(thread_per_connection)
