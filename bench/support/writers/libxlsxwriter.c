/*
 * Does the work of bench/render.mjs with libxlsxwriter, in its mode with the least memory.
 * It computes the figures of support/report-data.mjs itself: change both together.
 *
 *   libxlsxwriter <path> <sections> <rows>      a pack with a chart per section
 *   libxlsxwriter <path> list <rows>            a list
 *
 * Prints {"ms": …, "cpu_ms": …, "rss_mb": …, "mb": …}.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <xlsxwriter.h>

#define COLUMNS 22
#define LIST_COLUMNS 10
/* 1 January 2012 in Excel's count of days. */
#define FIRST_DAY 40909.0
#define DAY_SECONDS 86400.0

static const char *TYPES[] = {"individual profile", "entity profile"};
static const char *RISKS[] = {"low", "medium", "high"};
static const char *COUNTRIES[] = {"CH", "DE", "FR", "IT"};
static const char *LIST_HEADERS[] = {"id",      "name",  "created_at",  "active", "risk", "email",
                                     "country", "score", "reviewed_on", "remark"};

static long scatter(long section, long row, long column) {
    return (section * 99991 + row * 7919 + column * 104729) % 100003;
}

static lxw_format *number_format(lxw_workbook *book, const char *code) {
    lxw_format *format = workbook_add_format(book);
    format_set_num_format(format, code);
    return format;
}

static void write_section(lxw_workbook *book, long section, long rows, lxw_format *bold, lxw_format **formats) {
    char text[64];
    snprintf(text, sizeof text, "Section %ld", section);
    lxw_worksheet *sheet = workbook_add_worksheet(book, text);
    worksheet_freeze_panes(sheet, 1, 0);
    worksheet_set_column(sheet, 0, COLUMNS - 1, 16, NULL);
    for (int column = 0; column < COLUMNS; column++) {
        snprintf(text, sizeof text, "Metric %d", column);
        worksheet_write_string(sheet, 0, column, text, bold);
    }
    for (long row = 0; row < rows; row++) {
        worksheet_write_number(sheet, row + 1, 0, FIRST_DAY + row / 50, formats[0]);
        worksheet_write_string(sheet, row + 1, 1, TYPES[row % 2], NULL);
        snprintf(text, sizeof text, "Group %ld & partners", (row >> 1) % 25);
        worksheet_write_string(sheet, row + 1, 2, text, NULL);
        for (int column = 3; column < COLUMNS; column++) {
            long number = scatter(section, row, column);
            if (column < 11)
                worksheet_write_number(sheet, row + 1, column, number, formats[1]);
            else if (number % 50 == 0)
                worksheet_write_string(sheet, row + 1, column, "–", NULL);
            else if (column < 17)
                worksheet_write_number(sheet, row + 1, column, number / 100003.0, formats[2]);
            else
                worksheet_write_number(sheet, row + 1, column, (number + 0.5) / DAY_SECONDS, formats[3]);
        }
    }
    worksheet_autofilter(sheet, 0, 0, rows, COLUMNS - 1);
    lxw_chart *chart = workbook_add_chart(book, LXW_CHART_LINE);
    lxw_chart_series *series = chart_add_series(chart, NULL, NULL);
    snprintf(text, sizeof text, "Section %ld", section);
    chart_series_set_categories(series, text, 1, 0, rows, 0);
    chart_series_set_values(series, text, 1, 3, rows, 3);
    worksheet_insert_chart(sheet, 1, COLUMNS + 1, chart);
}

static void write_list(lxw_workbook *book, long rows, lxw_format *bold) {
    char text[96];
    lxw_format *identifier = number_format(book, "0"), *count = number_format(book, "#,##0");
    lxw_format *instant = number_format(book, "yyyy-mm-dd hh:mm:ss"), *day = number_format(book, "ddd d mmm yyyy");
    lxw_worksheet *sheet = workbook_add_worksheet(book, "List");
    worksheet_freeze_panes(sheet, 1, 0);
    worksheet_set_column(sheet, 0, LIST_COLUMNS - 1, 16, NULL);
    for (int column = 0; column < LIST_COLUMNS; column++)
        worksheet_write_string(sheet, 0, column, LIST_HEADERS[column], bold);
    for (long index = 0; index < rows; index++) {
        long number = scatter(0, index, 1), row = index + 1;
        double created = FIRST_DAY + number % 5000 + (number % 86400) / DAY_SECONDS;
        worksheet_write_number(sheet, row, 0, 1000000 + index, identifier);
        snprintf(text, sizeof text, "Person %ld of %ld", number, index);
        worksheet_write_string(sheet, row, 1, text, NULL);
        worksheet_write_number(sheet, row, 2, created, instant);
        worksheet_write_boolean(sheet, row, 3, number % 3 > 0, NULL);
        worksheet_write_string(sheet, row, 4, RISKS[number % 3], NULL);
        snprintf(text, sizeof text, "person.%ld@mail.example", index);
        worksheet_write_string(sheet, row, 5, text, NULL);
        worksheet_write_string(sheet, row, 6, COUNTRIES[number % 4], NULL);
        worksheet_write_number(sheet, row, 7, number / 8.0, count);
        if (number % 50 == 0)
            worksheet_write_string(sheet, row, 8, "–", NULL);
        else
            worksheet_write_number(sheet, row, 8, FIRST_DAY + number % 5000, day);
        snprintf(text, sizeof text, "Reviewed in %ld days, <nothing> to add", number % 900);
        worksheet_write_string(sheet, row, 9, text, NULL);
    }
    worksheet_autofilter(sheet, 0, 0, rows, LIST_COLUMNS - 1);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    lxw_workbook_options options = {.constant_memory = LXW_TRUE};
    lxw_workbook *book = workbook_new_opt(words[1], &options);
    lxw_format *bold = workbook_add_format(book);
    format_set_bold(bold);
    lxw_format *formats[] = {number_format(book, "ddd d mmm yyyy"), number_format(book, "#,##0"),
                             number_format(book, "0.0%"), number_format(book, "[h]:mm:ss")};
    long rows = atol(words[3]);
    if (strcmp(words[2], "list") == 0)
        write_list(book, rows, bold);
    else
        for (long section = 0; section < atol(words[2]); section++) write_section(book, section, rows, bold, formats);
    lxw_error error = workbook_close(book);
    if (error != LXW_NO_ERROR) {
        fprintf(stderr, "%s\n", lxw_strerror(error));
        return 1;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
    double cpu_ms = (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
                    (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
    struct stat file;
    if (stat(words[1], &file) != 0) return 1;
    printf("{\"ms\": %.0f, \"cpu_ms\": %.0f, \"rss_mb\": %.0f, \"mb\": %.1f}\n", ms, cpu_ms, used.ru_maxrss / 1024.0,
           file.st_size / 1e6);
    return 0;
}
