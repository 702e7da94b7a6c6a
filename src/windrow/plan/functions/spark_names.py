"""The functions of Spark SQL that are not here, each with the reason; all others of its list are."""

from __future__ import annotations

_REASONS: dict[str, str] = {
    "an answer depends on the rows alone": """current_date curdate current_timestamp current_time current_timezone now
        localtime localtimestamp rand randn random randstr uniform shuffle uuid monotonically_increasing_id
        spark_partition_id""",
    "it asks who or what is running, not the rows": """current_catalog current_database current_schema current_user
        session_user user version input_file_block_length input_file_block_start input_file_name current_path
        python_worker_logs sql_keywords collations measure""",
    "it runs code of the machine": "java_method reflect try_reflect",
    "it stops the run; bad rows give null here": "raise_error assert_true",
    "it takes a function as an argument": """aggregate reduce transform filter exists forall zip_with map_filter
        map_zip_with transform_keys transform_values""",
    "it gives several rows or columns; UNNEST is not there yet": """explode explode_outer posexplode
        posexplode_outer inline inline_outer stack json_tuple variant_explode variant_explode_outer range""",
    "windows stand in brackets": "window session_window window_time",
    "OVER has its own page": "cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number",
    "grouping sets are not there": "grouping grouping_id",
    "sketches are the aggregates APPROX_... and FREQUENT here": """approx_top_k approx_top_k_accumulate
        approx_top_k_combine approx_top_k_estimate bitmap_and_agg bitmap_bit_position bitmap_bucket_number
        bitmap_construct_agg bitmap_count bitmap_or_agg count_min_sketch hll_sketch_agg hll_sketch_estimate hll_union
        hll_union_agg histogram_numeric theta_difference theta_intersection theta_intersection_agg theta_sketch_agg
        theta_sketch_estimate theta_union theta_union_agg approx_percentile percentile_approx""",
    "there is no type VARIANT": """is_valid_variant is_variant_null parse_json try_parse_json schema_of_variant
        schema_of_variant_agg to_variant_object try_variant_array_append try_variant_get try_variant_insert
        try_variant_set variant_array_append variant_delete variant_get variant_insert variant_set
        variant_strip_nulls""",
    "there is no type TIME": """make_time time time_diff time_from_micros time_from_millis time_from_seconds
        time_to_micros time_to_millis time_to_seconds time_trunc to_time try_to_time""",
    "times are of UTC, to the microsecond": """make_timestamp_ntz try_make_timestamp_ntz to_timestamp_ntz
        timestamp_nanos unix_nanos""",
    "months and years have no fixed length": "make_interval make_ym_interval try_make_interval",
    "texts are compared by their bytes": "collate collation",
    "texts are always valid UTF-8": "is_valid_utf8 make_valid_utf8 validate_utf8 try_validate_utf8",
    "it needs a key or a secret": "aes_decrypt aes_encrypt try_aes_decrypt hmac",
    "another format than JSON": """from_avro to_avro schema_of_avro from_csv to_csv schema_of_csv from_protobuf
        to_protobuf from_xml to_xml schema_of_xml xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
        xpath_number xpath_short xpath_string""",
    "geometry is not there": "st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid",
    "write SHIFTRIGHTUNSIGNED(n, places)": ">>>",
    "Spark's own hash of its own layout": "hash xxhash64",
    "not there yet": """bit_and bit_or bit_xor from_base32 to_base32 from_json schema_of_json sentences to_binary
        try_to_binary to_number try_to_number to_varchar binary counter_diff kurtosis skewness collect_union vector_avg
        vector_cosine_similarity vector_inner_product vector_l2_distance vector_norm vector_normalize vector_sum""",
}
FAMILIES = {
    "kll_": "sketches are the aggregates APPROX_... and FREQUENT here",
    "tuple_": "sketches of tuples are not there",
}

ABSENT: dict[str, str] = {name: reason for reason, names in _REASONS.items() for name in names.split()}

# What is an operator or a form of the grammar in both.
SYNTAX = frozenset(
    """! != % & * + - / < << <= <=> <> = == > >= >> ^ | || ~ and between case cast extract if in like not or when ilike
    rlike regexp""".split()
)


def reason_for(name: str) -> str | None:
    """Why a function of Spark SQL is not here; None when it is not known to be absent."""
    family = next((reason for prefix, reason in FAMILIES.items() if name.startswith(prefix)), None)
    return ABSENT.get(name, family)
