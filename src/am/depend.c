/*-------------------------------------------------------------------------
 *
 * depend.c
 *	  An index depends on the foreign table that its option `source` names.
 *
 * Recorded whenever an index is created or altered, by whatever command, from
 * the hook that the server calls then.  An index in whose time of
 * creation there is no such table gets a WARNING: a dump must load.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "am/index.h"

static object_access_hook_type previous_hook;

/* Records what the row of pg_class says. */
static void
record(Relation pg_class, HeapTuple tuple, bool created)
{
	Form_pg_class class = (Form_pg_class) GETSTRUCT(tuple);
	LwIndexOptions *options = (LwIndexOptions *) extractRelOptions(tuple, RelationGetDescr(pg_class), lw_index_options);
	ObjectAddress index;
	ObjectAddress source;

	ObjectAddressSet(index, RelationRelationId, class->oid);
	if (!created)
		deleteDependencyRecordsForClass(RelationRelationId, class->oid, RelationRelationId, DEPENDENCY_NORMAL);
	if (options == NULL || options->source == 0)
		return;
	ObjectAddressSet(source, RelationRelationId, lw_index_source(options, class->relnamespace));
	if (OidIsValid(source.objectId))
	{
		/* nobody drops it before this transaction ends */
		LockRelationOid(source.objectId, AccessShareLock);
		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(source.objectId)))
			source.objectId = InvalidOid;
	}
	if (OidIsValid(source.objectId))
		recordDependencyOn(&index, &source, DEPENDENCY_NORMAL);
	else
		ereport(WARNING,
				(errmsg("\"%s\", the source of index \"%s\", is not a source of lateweave",
						(char *) options + options->source, NameStr(class->relname)),
				 errhint("The index works, but does not depend on it.")));
}

/* Looks at a relation that was created or altered just now: the command counter may be as before. */
static void
look_at(Oid relid, bool created)
{
	Oid			method = get_am_oid("lateweave", true);
	Relation	pg_class;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (!OidIsValid(method))
		return;
	pg_class = table_open(RelationRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(pg_class, ClassOidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple) && ((Form_pg_class) GETSTRUCT(tuple))->relam == method)
		record(pg_class, tuple, created);
	systable_endscan(scan);
	table_close(pg_class, AccessShareLock);
}

static void
object_access(ObjectAccessType access, Oid classid, Oid objid, int subid, void *arg)
{
	if (previous_hook != NULL)
		previous_hook(access, classid, objid, subid, arg);
	if (classid == RelationRelationId && subid == 0 && (access == OAT_POST_CREATE || access == OAT_POST_ALTER))
		look_at(objid, access == OAT_POST_CREATE);
}

void
lw_index_depend_init(void)
{
	previous_hook = object_access_hook;
	object_access_hook = object_access;
}
