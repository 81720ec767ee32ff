/* SPDX-License-Identifier: MIT */
/* The registry: one line per policy, in the order users see them. */
POLICY(cohort)
POLICY(mg1)
POLICY(mg1_boxma)
POLICY(srpt)
POLICY(dbr)
POLICY(color)
POLICY(pool_per_stage)
POLICY(thread_per_connection)
POLICY(capriccio)
POLICY(servlib)
